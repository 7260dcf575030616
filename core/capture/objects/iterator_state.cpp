#include "core/capture/objects/iterator_state.h"

#include <cstring>
#include <initializer_list>

#include "core/capture/objects/python.h"

namespace vitrine::capture {
namespace {

bool is_one_of(PyObject* iterator, std::initializer_list<const char*> names) {
  bool known = false;
  for (const char* name : names) known |= std::strcmp(Py_TYPE(iterator)->tp_name, name) == 0;
  return known && !PyType_HasFeature(Py_TYPE(iterator), Py_TPFLAGS_HEAPTYPE);
}

// (how, arguments, position or nothing)
PyRef reduced(PyObject* iterator) {
  PyRef state(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  if (!state) PyErr_Clear();
  const bool usable = state && PyTuple_Check(state.get()) && PyTuple_GET_SIZE(state.get()) >= 2 &&
                      PyTuple_Check(PyTuple_GET_ITEM(state.get(), 1));
  return usable ? std::move(state) : PyRef();
}

PyObject* first_argument(const PyRef& state) {
  PyObject* arguments = state ? PyTuple_GET_ITEM(state.get(), 1) : nullptr;
  return arguments && PyTuple_GET_SIZE(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : nullptr;
}

// -1 = none.
Py_ssize_t position_of(const PyRef& state) {
  PyObject* position = PyTuple_GET_SIZE(state.get()) > 2 ? PyTuple_GET_ITEM(state.get(), 2) : nullptr;
  return position && PyLong_Check(position) ? PyLong_AsSsize_t(position) : -1;
}

// (reversed, (sequence,), position of the next) -> [sequence[position], ..., sequence[0]]
PyObject* reversed_rest(PyObject* sequence, Py_ssize_t position) {
  if (!PyTuple_Check(sequence) && !PyList_Check(sequence) && !PyUnicode_Check(sequence)) return nullptr;
  PyRef all(PySequence_List(sequence));
  PyRef rest(all ? PyList_GetSlice(all.get(), 0, position + 1) : nullptr);
  return rest && PyList_Reverse(rest.get()) == 0 ? rest.release() : nullptr;
}

}  // namespace

PyObject* iterator_rest(PyObject* iterator) {
  if (PyAnySet_CheckExact(iterator)) return PySequence_List(iterator);
  const bool backwards = is_one_of(iterator, {"list_reverseiterator", "reversed"});
  if (!backwards &&
      !is_one_of(iterator, {"list_iterator", "tuple_iterator", "range_iterator", "dict_keyiterator",
                            "dict_valueiterator", "dict_itemiterator", "str_iterator", "str_ascii_iterator",
                            "bytes_iterator", "set_iterator"}))
    return nullptr;
  const PyRef state = reduced(iterator);
  PyObject* sequence = first_argument(state);
  if (!sequence) return nullptr;
  const Py_ssize_t position = position_of(state);
  PyObject* rest = nullptr;
  if (backwards && (position >= 0 || PyTuple_GET_SIZE(state.get()) > 2)) {
    rest = reversed_rest(sequence, position);
  } else if (PyRef all(PySequence_List(sequence)); all) {
    rest = PyList_GetSlice(all.get(), position < 0 ? 0 : position, PyList_GET_SIZE(all.get()));
  }
  if (!rest) PyErr_Clear();
  return rest;
}

PyObject* iterator_state(PyObject* iterator, int32_t index) {
  if (!is_one_of(iterator, {"enumerate", "zip", "map", "filter", "itertools.count", "itertools.repeat",
                            "itertools.chain", "itertools.islice"}))
    return nullptr;
  const PyRef state = reduced(iterator);
  if (!state) return nullptr;
  PyObject* part = index < PyTuple_GET_SIZE(state.get()) ? PyTuple_GET_ITEM(state.get(), index) : Py_None;
  Py_INCREF(part);
  return part;
}

PyObject* iterated_container(PyObject* iterator) {
  PyObject* found = nullptr;
  const auto visit = [](PyObject* o, void* out) {
    if (PyDict_Check(o) || PyAnySet_Check(o) || PyList_Check(o)) *static_cast<PyObject**>(out) = o;
    return 0;
  };
  if (Py_TYPE(iterator)->tp_traverse) Py_TYPE(iterator)->tp_traverse(iterator, visit, &found);
  return found;
}

}  // namespace vitrine::capture
