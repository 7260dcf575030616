#include "core/capture/objects/values.h"
#include "core/capture/objects/class_dict.h"

#include <cstring>

#include "core/capture/objects/owned.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

namespace {

constexpr size_t kLongestText = 80;

// The iterators of list and tuple: position and sequence, the same in every supported CPython.
struct SequenceIterator {
  PyObject_HEAD Py_ssize_t index;
  PyObject* sequence;  // nullptr when exhausted
};

PyTypeObject* iterator_type(PyObject* empty) {
  PyRef sequence = PyRef(empty);
  PyRef it = PyRef(sequence ? PyObject_GetIter(sequence.get()) : nullptr);
  return it ? Py_TYPE(it.get()) : nullptr;
}

struct IteratorTypes {
  PyTypeObject* list = iterator_type(PyList_New(0));
  PyTypeObject* tuple = iterator_type(PyTuple_New(0));
};
const IteratorTypes& iterators() {
  static const IteratorTypes types;
  return types;
}

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

bool same_by_comparison(PyObject* a, PyObject* b) {
  int r = PyObject_RichCompareBool(a, b, Py_EQ);
  if (r < 0) PyErr_Clear();
  return r == 1;
}

bool same_tuple(PyObject* a, PyObject* b) {
  Py_ssize_t n = PyTuple_GET_SIZE(a);
  if (n != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!same_constant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  return true;
}

bool same_slice(PyObject* a, PyObject* b) {
  auto* x = reinterpret_cast<PySliceObject*>(a);
  auto* y = reinterpret_cast<PySliceObject*>(b);
  return same_constant(x->start, y->start) && same_constant(x->stop, y->stop) &&
         same_constant(x->step, y->step);
}

bool same_range(PyObject* a, PyObject* b) {
  for (const char* part : {"start", "stop", "step"}) {
    PyRef x = PyRef(PyObject_GetAttrString(a, part)), y = PyRef(PyObject_GetAttrString(b, part));
    if (!x || !y) PyErr_Clear();
    if (!x || !y || !same_constant(x.get(), y.get())) return false;
  }
  return true;
}

}  // namespace

// Members are compared by type too: {1} is not {True}.
bool same_set(PyObject* a, PyObject* b) {
  if (!PyAnySet_Check(a) || !PyAnySet_Check(b) || PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
  // Past what a class derived from set says about going through it.
  const PyRef plain(PyAnySet_CheckExact(b) ? Py_NewRef(b) : PyFrozenSet_New(b));
  PyRef xs(PySequence_Tuple(a)), ys(plain ? PySequence_Tuple(plain.get()) : nullptr);
  if (!xs || !ys) PyErr_Clear();
  if (!xs || !ys) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(xs.get()); ++i) {
    bool found = false;
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(ys.get()) && !found; ++j)
      found = same_constant(PyTuple_GET_ITEM(xs.get(), i), PyTuple_GET_ITEM(ys.get(), j));
    if (!found) return false;
  }
  return true;
}

namespace {

bool is_torch_value(PyTypeObject* type) {  // torch.device compares in C
  return std::strcmp(type->tp_name, "torch.device") == 0 && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
}

// repr() of these is C code over values that are themselves safe.
bool has_safe_repr(PyObject* o) {
  if (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
      PyComplex_CheckExact(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyRange_Check(o) ||
      o == Py_Ellipsis)
    return true;
  if (PyTuple_Check(o) && !PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
      if (!has_safe_repr(PyTuple_GET_ITEM(o, i))) return false;
    return true;
  }
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    return has_safe_repr(s->start) && has_safe_repr(s->stop) && has_safe_repr(s->step);
  }
  const char* name = Py_TYPE(o)->tp_name;
  return !PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE) && std::strncmp(name, "torch.", 6) == 0 &&
         !PyType_Check(o);
}

std::string function_text(PyObject* o) {
  return "function " + text_of(reinterpret_cast<PyFunctionObject*>(o)->func_qualname);
}

}  // namespace

bool same_constant(PyObject* a, PyObject* b) {
  if (a == b) return true;
  PyTypeObject* type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBytes_Type)
    return same_by_comparison(a, b);
  if (type == &PyFloat_Type) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (type == &PyComplex_Type) {
    Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
    return same_bits(x.real, y.real) && same_bits(x.imag, y.imag);
  }
  if (PyTuple_Check(a)) return same_tuple(a, b);
  if (type == &PySlice_Type) return same_slice(a, b);
  if (type == &PyRange_Type) return same_range(a, b);
  if (type == &PyFrozenSet_Type) return same_set(a, b);
  return is_torch_value(type) && same_by_comparison(a, b);
}

std::string describe(PyObject* o) {
  if (!o) return "absent";
  if (torch_api::is_tensor(o)) {
    if (torch_api::is_plain_tensor(o)) return torch_api::type_of(o).text();
    return std::string(Py_TYPE(o)->tp_name);
  }
  if (has_safe_repr(o)) {
    std::string text = text_of(PyRef(PyObject_Repr(o)).get());
    PyErr_Clear();
    return shortened(std::move(text), kLongestText);
  }
  if (PyFunction_Check(o)) return function_text(o);
  if (PyMethod_Check(o) && PyFunction_Check(PyMethod_GET_FUNCTION(o)))
    return "method " + function_text(PyMethod_GET_FUNCTION(o)).substr(9);
  if (PyType_Check(o)) return std::string("class ") + reinterpret_cast<PyTypeObject*>(o)->tp_name;
  if (PyModule_Check(o)) {
    const char* name = PyModule_GetName(o);
    if (!name) PyErr_Clear();
    return std::string("module ") + (name ? name : "?");
  }
  if (int64_t n = builtin_length(o); n >= 0)
    return std::string(Py_TYPE(o)->tp_name) + " of length " + std::to_string(n);
  return std::string("<") + Py_TYPE(o)->tp_name + " object>";
}

bool is_deque(PyObject* o) {
  return Py_TYPE(o) == torch_names().deque;
}

int64_t builtin_length(PyObject* o) {
  if (is_deque(o)) return PyObject_Size(o);
  if (PyList_Check(o)) return PyList_GET_SIZE(o);
  if (PyTuple_Check(o)) return PyTuple_GET_SIZE(o);
  if (PyDict_Check(o)) return PyDict_GET_SIZE(o);
  if (PyAnySet_Check(o)) return PySet_GET_SIZE(o);
  if (PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE) || torch_api::is_tensor(o)) return -1;
  const Py_ssize_t n = PyObject_Size(o);
  if (n < 0) PyErr_Clear();
  return n;
}

bool same_keys(PyObject* dict, std::span<PyObject* const> keys) {
  if (!PyDict_Check(dict) || static_cast<size_t>(PyDict_GET_SIZE(dict)) != keys.size()) return false;
  if (PyODict_Check(dict)) {  // keeps an order of its own
    PyRef list = PyRef(own_keys(dict));
    if (!list) PyErr_Clear();
    size_t same = 0;
    while (list && same < keys.size() &&
           same_constant(PyList_GET_ITEM(list.get(), static_cast<Py_ssize_t>(same)), keys[same]))
      ++same;
    return list && same == keys.size();
  }
  PyObject* key = nullptr;
  Py_ssize_t at = 0;
  for (size_t i = 0; PyDict_Next(dict, &at, &key, nullptr); ++i)
    if (!same_constant(key, keys[i])) return false;
  return true;
}

int64_t iterator_position(PyObject* iterator, PyObject** sequence) {
  *sequence = nullptr;
  if (Py_TYPE(iterator) == iterators().list || Py_TYPE(iterator) == iterators().tuple) {
    auto* it = reinterpret_cast<SequenceIterator*>(iterator);
    *sequence = it->sequence;
    return it->sequence ? it->index : -1;
  }
  if (Py_TYPE(iterator) != &PyRangeIter_Type) return -1;
  // (iter, (range,), position); CPython 3.12 moves the range's start instead and gives no position.
  PyRef state = PyRef(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  if (!state || !PyTuple_Check(state.get()) || PyTuple_GET_SIZE(state.get()) != 3) {
    PyErr_Clear();
    return -1;
  }
  PyObject* position = PyTuple_GET_ITEM(state.get(), 2);
  return PyLong_Check(position) ? PyLong_AsLongLong(position) : 0;
}

bool advance_iterator(PyObject* iterator, int64_t steps) {
  if (!PyIter_Check(iterator)) {
    PyErr_SetString(PyExc_SystemError, "an effect on something that is no iterator");
    return false;
  }
  for (int64_t i = 0; i < steps; ++i) {
    PyRef item(Py_TYPE(iterator)->tp_iternext(iterator));
    if (item) continue;
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_StopIteration)) PyErr_Clear();
    return !PyErr_Occurred();
  }
  return true;
}

}  // namespace vitrine::capture
