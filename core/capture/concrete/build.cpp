// Containers, slices and text.
#include "core/capture/concrete/handlers.h"

namespace vitrine::capture::handlers {
namespace {

// The `n` operands on top, lowest first.
PyObject* const* operands(Machine& m, int n) {
  return m.frame.stack_span(m.frame.depth() - n);
}

// Decides before anything happens whether **update can be merged: CPython words the errors.
bool merges_cleanly(PyObject* target, PyObject* update) {
  if (!PyDict_CheckExact(update) || !PyDict_CheckExact(target)) return false;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(update, &at, &key, &value);)
    if (!PyUnicode_CheckExact(key) || PyDict_Contains(target, key) != 0) return false;
  return true;
}

PyObject* convert(int conversion, PyObject* value) {
  switch (conversion) {
    case 1:
      return PyObject_Str(value);
    case 2:
      return PyObject_Repr(value);
    case 3:
      return PyObject_ASCII(value);
    default:
      return Py_NewRef(value);
  }
}

}  // namespace

StepResult build_tuple(Machine& m, const Instruction& in) {
  PyObject* tuple = PyTuple_New(in.arg);
  if (!tuple) return StepResult::Threw;
  for (int i = in.arg; i-- > 0;) PyTuple_SET_ITEM(tuple, i, m.frame.pop());
  return m.replace(0, tuple);
}

StepResult build_list(Machine& m, const Instruction& in) {
  PyObject* list = PyList_New(in.arg);
  if (!list) return StepResult::Threw;
  for (int i = in.arg; i-- > 0;) PyList_SET_ITEM(list, i, m.frame.pop());
  return m.replace(0, list);
}

StepResult build_set(Machine& m, const Instruction& in) {
  PyObject* set = PySet_New(nullptr);
  PyObject* const* items = operands(m, in.arg);
  for (int i = 0; set && i < in.arg; ++i)
    if (PySet_Add(set, items[i]) < 0) Py_CLEAR(set);
  return m.replace(in.arg, set);
}

StepResult build_map(Machine& m, const Instruction& in) {
  PyObject* map = PyDict_New();
  PyObject* const* items = operands(m, 2 * in.arg);
  for (int i = 0; map && i < in.arg; ++i)
    if (PyDict_SetItem(map, items[2 * i], items[2 * i + 1]) < 0) Py_CLEAR(map);
  return m.replace(2 * in.arg, map);
}

StepResult build_const_key_map(Machine& m, const Instruction& in) {
  PyObject* keys = m.peek(1);
  PyObject* map = PyDict_New();
  PyObject* const* values = operands(m, in.arg + 1);
  for (int i = 0; map && i < in.arg; ++i)
    if (PyDict_SetItem(map, PyTuple_GET_ITEM(keys, i), values[i]) < 0) Py_CLEAR(map);
  return m.replace(in.arg + 1, map);
}

StepResult build_string(Machine& m, const Instruction& in) {
  PyObject* empty = PyUnicode_New(0, 0);
  PyObject* parts = empty ? PyTuple_New(in.arg) : nullptr;
  PyObject* const* items = operands(m, in.arg);
  for (int i = 0; parts && i < in.arg; ++i) PyTuple_SET_ITEM(parts, i, Py_NewRef(items[i]));
  PyObject* text = parts ? PyUnicode_Join(empty, parts) : nullptr;
  Py_XDECREF(parts);
  Py_XDECREF(empty);
  return m.replace(in.arg, text);
}

StepResult build_slice(Machine& m, const Instruction& in) {
  PyObject* step = in.arg == 3 ? m.peek(1) : nullptr;
  return m.replace(in.arg, PySlice_New(m.peek(in.arg), m.peek(in.arg - 1), step));
}

StepResult list_append(Machine& m, const Instruction& in) {
  return m.done(1, PyList_Append(m.peek(in.arg + 1), m.peek(1)));
}

StepResult set_add(Machine& m, const Instruction& in) {
  return m.done(1, PySet_Add(m.peek(in.arg + 1), m.peek(1)));
}

StepResult map_add(Machine& m, const Instruction& in) {
  return m.done(2, PyDict_SetItem(m.peek(in.arg + 2), m.peek(2), m.peek(1)));
}

StepResult list_extend(Machine& m, const Instruction& in) {
  PyObject* iterable = m.peek(1);
  if (!Py_TYPE(iterable)->tp_iter && !PySequence_Check(iterable)) return StepResult::Exit;
  PyObject* extended = PySequence_InPlaceConcat(m.peek(in.arg + 1), iterable);
  Py_XDECREF(extended);
  return m.done(1, extended ? 0 : -1);
}

StepResult set_update(Machine& m, const Instruction& in) {
  PyObject* none = PyObject_CallMethod(m.peek(in.arg + 1), "update", "(O)", m.peek(1));
  Py_XDECREF(none);
  return m.done(1, none ? 0 : -1);
}

StepResult dict_update(Machine& m, const Instruction& in) {
  if (!PyDict_Check(m.peek(1))) return StepResult::Exit;
  return m.done(1, PyDict_Update(m.peek(in.arg + 1), m.peek(1)));
}

StepResult dict_merge(Machine& m, const Instruction& in) {
  PyObject* target = m.peek(in.arg + 1);
  if (!merges_cleanly(target, m.peek(1))) {
    PyErr_Clear();
    return StepResult::Exit;
  }
  return m.done(1, PyDict_Update(target, m.peek(1)));
}

StepResult list_to_tuple(Machine& m, const Instruction&) {
  return m.replace(1, PyList_AsTuple(m.peek(1)));
}

StepResult format_value(Machine& m, const Instruction& in) {
  const int n = in.flag ? 2 : 1;
  PyObject* spec = in.flag ? m.peek(1) : nullptr;
  PyObject* text = convert(in.arg, m.peek(n));
  if (text && (spec || !PyUnicode_CheckExact(text))) {
    PyObject* formatted = PyObject_Format(text, spec);
    Py_DECREF(text);
    text = formatted;
  }
  return m.replace(n, text);
}

StepResult convert_value(Machine& m, const Instruction& in) {
  return m.replace(1, convert(in.arg, m.peek(1)));
}

}  // namespace vitrine::capture::handlers
