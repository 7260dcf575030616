// Attributes and methods of tensors: metadata is known at capture, views and arithmetic are recorded, what
// reads the data or the autograd graph ends the segment.
#include <string_view>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/backward.h"
#include "core/capture/interpreter/library/differentiation.h"
#include "core/capture/interpreter/library/float_functions.h"
#include "core/capture/interpreter/library/hooks.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/optimizers.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/symbolic/data_sizes.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/types/tensors/leaves.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/replaced.h"

namespace vitrine::capture {
namespace {

// OfType: known, too, and of an input by its guard, whatever its sizes.
enum class Answer : uint8_t { Known, OfType, Node, Reads, Refused };
struct MemberRow {
  const char* name;
  Answer answer;
  const char* why = "";
};

constexpr MemberRow kAttributes[] = {
    {"shape", Answer::Known},
    {"dtype", Answer::OfType},
    {"device", Answer::OfType},
    {"ndim", Answer::OfType},
    {"layout", Answer::OfType},
    {"requires_grad", Answer::OfType},
    {"is_cuda", Answer::OfType},
    {"is_cpu", Answer::OfType},
    {"is_mps", Answer::OfType},
    {"is_xpu", Answer::OfType},
    {"is_meta", Answer::OfType},
    {"is_sparse", Answer::OfType},
    {"is_sparse_csr", Answer::OfType},
    {"is_mkldnn", Answer::OfType},
    {"is_quantized", Answer::OfType},
    {"is_nested", Answer::OfType},
    {"itemsize", Answer::OfType},
    {"nbytes", Answer::Known},
    {"T", Answer::Node},
    {"mT", Answer::Node},
    {"H", Answer::Node},
    {"mH", Answer::Node},
    {"real", Answer::Node},
    {"imag", Answer::Node},
    {"_version", Answer::Refused, "._version counts eager writes"},
    {"_base", Answer::Refused, "._base is eager's own view"},
};

constexpr MemberRow kMethods[] = {
    {"size", Answer::Known},
    {"dim", Answer::OfType},
    {"ndimension", Answer::OfType},
    {"numel", Answer::Known},
    {"nelement", Answer::Known},
    {"stride", Answer::Known},
    {"storage_offset", Answer::Refused, "where a part of memory begins is known only when it runs"},
    {"is_contiguous", Answer::Known},
    {"is_floating_point", Answer::OfType},
    {"is_complex", Answer::OfType},
    {"is_signed", Answer::OfType},
    {"is_conj", Answer::OfType},
    {"is_neg", Answer::OfType},
    {"element_size", Answer::OfType},
    {"get_device", Answer::OfType},
    {"__len__", Answer::Known},
    {"item", Answer::Reads, ".item()"},
    {"tolist", Answer::Reads, ".tolist()"},
    {"numpy", Answer::Reads, ".numpy()"},
    {"__array__", Answer::Reads, "conversion to NumPy"},
    {"__int__", Answer::Reads, "int()"},
    {"__float__", Answer::Reads, "float()"},
    {"__index__", Answer::Reads, "use as an index"},
    {"__complex__", Answer::Reads, "complex()"},
    {"__contains__", Answer::Reads, "`in`"},
    {"__bool__", Answer::Reads, "bool()"},
    {"__repr__", Answer::Reads, "repr()"},
    {"__str__", Answer::Reads, "str()"},
    {"__format__", Answer::Reads, "format()"},
    {"data_ptr", Answer::Refused, "its address is known only when it runs"},
    {"_is_view", Answer::Refused, "it is eager's own view"},
    {"register_post_accumulate_grad_hook", Answer::Refused, "hooks are registered for real"},
    {"retain_grad", Answer::Refused, "it changes autograd's own graph"},
    {"as_subclass", Answer::Refused, "another class answers from then on"},
    {"refine_names", Answer::Refused, "dims get names, which a graph does not know"},
    {"rename", Answer::Refused, "dims get names, which a graph does not know"},
    {"rename_", Answer::Refused, "dims get names, which a graph does not know"},
    {"align_to", Answer::Refused, "dims are taken by name"},
    {"align_as", Answer::Refused, "dims are taken by name"},
    {"set_", Answer::Refused, "it changes the storage"},
    {"resize_", Answer::Refused, "it changes the storage"},
    {"storage", Answer::Refused, "it hands out the storage"},
    {"untyped_storage", Answer::Refused, "it hands out the storage"},
    {"share_memory_", Answer::Refused, "it changes the storage"},
    {"_typed_storage", Answer::Refused, "it hands out the storage"},
    {"is_shared", Answer::Refused, "it asks how the memory was allocated"},
    {"is_pinned", Answer::Refused, "it asks how the memory was allocated"},
    {"__dlpack__", Answer::Refused, "it hands out the storage"},
    {"__reduce_ex__", Answer::Refused, "pickling"},
    {"__deepcopy__", Answer::Refused, "copy.deepcopy"},
};

template <size_t N>
const MemberRow* find(const MemberRow (&rows)[N], const std::string& name) {
  for (const MemberRow& row : rows)
    if (name == row.name) return &row;
  return nullptr;
}

}  // namespace

namespace {

bool is_known(const MemberRow* row) {
  return row && (row->answer == Answer::Known || row->answer == Answer::OfType);
}
// Whether the answer may be another one for other sizes.
bool may_change(Tracer& t, const MemberRow* row, Value* v) {
  const bool is_guarded = v->source && t.sizes.of_tensors.contains(v);
  return !row || row->answer != Answer::OfType || !is_guarded;
}

}  // namespace

Value* tensor_attr(Tracer& t, Value* v, const std::string& name) {
  PyTypeObject* type = v->cls;
  // What is put in the place of a method is seen by the guard on PyTorch's state (replaced.h).
  if (type != torch_names().tensor && type != torch_names().parameter) pin_type(t, type);
  const bool as_ever = !torch_api::is_replaced_in_tensor(name);
  if (name == "requires_grad") check_not_differentiated(t, "requires_grad");
  if (as_ever && name == "grad") return read_grad(t, v);
  for (const auto& [own, value] : v->attrs)
    if (own == name && name != "requires_grad" && name != "data" && name != "grad") return value;
  if (as_ever && name == "data") return data_of(t, v);
  if (as_ever && (name == "is_leaf" || name == "grad_fn")) return autograd_fact(t, v, name);
  if (as_ever && name == "__class__") return t.pinned(reinterpret_cast<PyObject*>(type));
  if (const MemberRow* row = as_ever ? find(kAttributes, name) : nullptr) {
    switch (row->answer) {
      case Answer::Known:
      case Answer::OfType: {
        if (Value* sizes = size_question(t, v, name, {})) return sizes;
        PyRef text(PyUnicode_FromString(name.c_str())), args(PyTuple_Pack(2, v->obj, text.get()));
        return fact(t, find_object("builtins.getattr"), args.get(), may_change(t, row, v));
      }
      case Answer::Node: {
        PyRef key(PyUnicode_FromString(name.c_str()));
        PyRef getter(PyObject_GetAttrString(_PyType_Lookup(torch_names().tensor, key.get()), "__get__"));
        if (!getter) t.raise_python();
        return torch_call(t, "Tensor." + name, t.keep(getter.release()), {{v}, {}});
      }
      default:
        stop("unsupported_operator", "a tensor's " + name + " is read: " + row->why);
    }
  }
  PyRef key(PyUnicode_InternFromString(name.c_str()));
  PyObject* descriptor = _PyType_Lookup(type, key.get());
  if (descriptor) {
    if (Py_TYPE(descriptor) == &PyGetSetDescr_Type || Py_TYPE(descriptor) == &PyProperty_Type)
      stop("unsupported_operator", "attribute " + name + " of a tensor");
    return bind_descriptor(t, descriptor, v, type, name);
  }
  if (!real_of(v) || !v->source) return nullptr;
  PyRef dict(PyObject_GenericGetDict(real_of(v), nullptr));
  PyErr_Clear();
  PyObject* own = dict ? PyDict_GetItemString(dict.get(), name.c_str()) : nullptr;
  if (own) return t.lazy(own, t.sources().make(SourceKind::InstanceDict, v->source, -1, name));
  t.guard(GuardKind::InstanceHas, v->source, nullptr, 0, name, nullptr, "has no own " + name);
  return nullptr;
}

Value* tensor_method(Tracer& t, Value* self, const std::string& name, PyObject* callable, Arguments a) {
  const MemberRow* row = find(kMethods, name);
  PyRef key(PyUnicode_InternFromString(name.c_str()));
  if (!callable)
    callable = _PyType_Lookup(
        torch_api::is_replaced_in_tensor(name) ? torch_names().tensor_base : torch_names().tensor, key.get());
  if (name == "is_inference") return is_inference(t, self);
  if (name == "register_hook") return register_hook(t, self, a);
  if (name == "numpy" && torch_names().numpy_ufunc) return array_of_tensor(t, self, std::move(a));
  if ((name == "is_conj" || name == "resolve_conj") && t.lowering().is_conjugated(self->obj))
    stop("unsupported_operator", "Tensor." + name + " of a tensor that is conjugated when it is read");
  if (name == "requires_grad_") {
    const bool given = !a.positional.empty() || a.find("requires_grad");
    const size_t n = a.positional.size() + a.keyword.size();
    if (n > 1 || (n == 1 && !given)) t.raise(PyExc_TypeError, "requires_grad_() takes one argument");
    Value* on = !given ? t.boolean(true) : a.positional.empty() ? a.find("requires_grad") : a.positional[0];
    return set_requires_grad(t, self, truth(t, on));
  }
  if (name == "backward") {
    a.positional.insert(a.positional.begin(), self);
    return tensor_backward(t, a);
  }
  if (Value* open = with_symbolic_floats(t, self, name, callable, a)) return open;
  if (Value* open = method_with_symbolic_float(t, self, name, a)) return open;
  if (!a.keyword.empty())
    if (Value* scaled = scaled_by_tensor(t, self, name, a)) return scaled;
  const bool plain_type = name == "type" && a.positional.empty() && a.keyword.empty();
  if (is_known(row) || plain_type) {
    if (Value* sizes = size_question(t, self, name, a)) return sizes;
    for (Value* v : a.positional) settle(t, v);
    for (auto& [key, value] : a.keyword) settle(t, value);
    VITRINE_CHECK(callable, "a tensor has no method " + name);
    PyRef all(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size()) + 1));
    PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(self->obj));
    for (size_t i = 0; i < a.positional.size(); ++i)
      PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i) + 1, to_python(t, a.positional[i]));
    if (a.keyword.empty()) return fact(t, callable, all.get(), may_change(t, row, self));
    PyRef keyword(PyDict_New());
    for (auto& [key, value] : a.keyword) {
      PyRef o(to_python(t, value));
      PyDict_SetItemString(keyword.get(), key.c_str(), o.get());
    }
    if (dynamic(t)) fix_all_sizes(t);
    return t.fold(PyObject_Call(callable, all.get(), keyword.get()));
  }
  if (row && row->answer == Answer::Reads && a.positional.empty() && a.keyword.empty())
    if (Value* read = read_number(t, self, row->name)) return read;
  if (row && row->answer == Answer::Reads)
    stop("scalar_read", std::string(row->why) + " reads the value of a tensor (" + describe(t, self) + ")");
  if (row)
    stop("unsupported_operator", "Tensor." + name + ": " + row->why,
         "Nothing is lost: the call runs as in eager. Make it outside of the compiled function to have one "
         "graph.");
  if (name == "__init__" || name == "__new__" || name == "__getattribute__" || name == "__setattr__")
    stop("unsupported_operator", "Tensor." + name);
  if (!callable) t.raise(PyExc_AttributeError, "'Tensor' object has no attribute '" + name + "'");
  a.positional.insert(a.positional.begin(), self);
  return torch_call(t, "Tensor." + name, callable, a);
}

Value* known_number(Tracer& t, Value* tensor, const char* method) {
  constexpr int64_t kMostNumbers = 4096;
  PyRef real(t.lowering().known_value(tensor->obj));
  const bool list = std::string_view(method) == "tolist";
  if (!real || torch_api::type_of(real.get()).numel() > (list ? kMostNumbers : 1)) return nullptr;
  if (!list && torch_api::type_of(real.get()).numel() != 1) return nullptr;
  PyRef number(PyObject_CallMethod(real.get(), method, nullptr));
  if (!number) t.raise_python();
  // It may follow from the sizes. An instance asks for it again; not for a float, where equal is not the
  // same.
  if (PyLong_Check(number.get()) && dynamic(t)) {
    PyRef function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(torch_names().tensor), method));
    t.lowering().note_question_of_value(function.get(), tensor->obj);
    t.sizes.symbolic->questions.push_back({-1, Py_NewRef(number.get())});
  } else {
    fix_all_sizes(t);
  }
  if (list) return t.fold(number.release());
  const bool plain = PyBool_Check(number.get()) || PyLong_CheckExact(number.get()) ||
                     PyFloat_CheckExact(number.get()) || PyComplex_CheckExact(number.get());
  return plain ? t.fold(number.release()) : nullptr;
}

}  // namespace vitrine::capture
