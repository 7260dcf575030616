#include "core/torch_api/convert.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "core/torch_api/api.h"
#include "core/torch_api/sym_node.h"

namespace vitrine::torch_api {

namespace {

std::string shown(PyObject* value) {
  PyRef text = PyRef::steal(PyObject_Str(value));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  return utf8 ? utf8 : "";
}

// torch.dtype, device, layout, memory_format: by the type's name, they are all extension types of torch.
std::optional<ir::Arg> torch_word(PyObject* value) {
  if (PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE)) return std::nullopt;  // not PyTorch's own
  const std::string_view type = Py_TYPE(value)->tp_name;
  if (type == "torch.dtype") {
    const std::string name = shown(value);
    const ir::DType dtype = ir::dtype_from_name(name.substr(name.find('.') + 1));
    if (dtype != ir::DType::other) return ir::Arg(dtype);
    return ir::Arg(ir::Word{name});
  }
  if (type == "torch.device" || type == "torch.layout" || type == "torch.memory_format")
    return ir::Arg(ir::Word{shown(value)});
  return std::nullopt;
}

// The IR has no complex constants: a word, every bit of it.
constexpr std::string_view kComplex = "complex(";

std::string complex_text(PyObject* value) {
  std::array<char, 64> text;
  char* at = std::to_chars(text.begin(), text.end(), PyComplex_RealAsDouble(value)).ptr;
  *at++ = ',';
  at = std::to_chars(at, text.end(), PyComplex_ImagAsDouble(value)).ptr;
  return std::string(kComplex) + std::string(text.begin(), at) + ")";
}

std::optional<ir::Arg> number(PyObject* value) {
  if (PyBool_Check(value)) return ir::Arg(value == Py_True);
  if (PyLong_Check(value)) {
    int overflow = 0;
    const int64_t n = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return std::nullopt;
    return ir::Arg(n);
  }
  if (PyFloat_Check(value)) return ir::Arg(PyFloat_AS_DOUBLE(value));
  if (PyComplex_Check(value)) return ir::Arg(ir::Word{complex_text(value)});
  return std::nullopt;
}

}  // namespace

PyObject* complex_of(const std::string& text) {
  if (!text.starts_with(kComplex)) return nullptr;
  char* at = nullptr;
  const double real = std::strtod(text.c_str() + kComplex.size(), &at);
  return PyComplex_FromDoubles(real, std::strtod(at + 1, nullptr));
}

std::optional<ir::Arg> to_arg(PyObject* value, const TensorArg& tensor) {
  if (value == Py_None) return ir::Arg();
  if (is_tensor(value)) return tensor(value);
  if (auto n = number(value)) return n;
  if (PyUnicode_Check(value)) {
    const char* utf8 = PyUnicode_AsUTF8(value);
    if (!utf8) return PyErr_Clear(), std::nullopt;
    return ir::Arg(std::string(utf8));
  }
  if (PyTuple_Check(value) || PyList_Check(value)) {
    std::vector<ir::Arg> list;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
    list.reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      auto item = to_arg(PySequence_Fast_GET_ITEM(value, i), tensor);
      if (!item) return std::nullopt;
      list.push_back(std::move(*item));
    }
    return ir::Arg(std::move(list));
  }
  if (is_symbolic_number(value)) {
    if (const auto real = fixed_real_of(value)) return ir::Arg(*real);
    const auto size = sym_of(value);
    return size ? std::optional(ir::Arg(*size)) : std::nullopt;
  }
  return torch_word(value);
}

std::optional<ir::Arg> constant_arg(PyObject* value) {
  return to_arg(value, [](PyObject*) { return std::nullopt; });
}

ir::Arg display_arg(PyObject* value, const TensorArg& tensor) {
  if (PyTuple_Check(value) || PyList_Check(value)) {
    std::vector<ir::Arg> list;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      list.push_back(display_arg(PySequence_Fast_GET_ITEM(value, i), tensor));
    return ir::Arg(std::move(list));
  }
  if (PySlice_Check(value)) {
    auto* slice = reinterpret_cast<PySliceObject*>(value);
    return ir::Arg(std::vector<ir::Arg>{ir::Word{"slice"}, display_arg(slice->start, tensor),
                                        display_arg(slice->stop, tensor), display_arg(slice->step, tensor)});
  }
  if (PyDict_Check(value)) {
    std::vector<ir::Arg> list;
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item);)
      list.push_back(ir::Arg(std::vector<ir::Arg>{display_arg(key, tensor), display_arg(item, tensor)}));
    return ir::Arg(std::move(list));
  }
  if (PyComplex_Check(value)) return ir::Word{shown(value)};
  if (auto arg = to_arg(value, tensor)) return *arg;
  if (value == Py_Ellipsis) return ir::Word{"Ellipsis"};
  if (PyLong_Check(value)) return ir::Word{shown(value)};
  if (PyType_Check(value)) return ir::Word{reinterpret_cast<PyTypeObject*>(value)->tp_name};
  return ir::Word{Py_TYPE(value)->tp_name};
}

}  // namespace vitrine::torch_api
