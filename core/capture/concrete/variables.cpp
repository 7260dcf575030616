// Locals, cells, globals, constants, and moves on the value stack. Unbound names are left to CPython, which
// words the error.
#include "core/capture/concrete/handlers.h"

namespace vitrine::capture::handlers {
namespace {

StepResult push_borrowed(Machine& m, PyObject* value) {
  if (!value) return StepResult::Exit;
  m.frame.push(Py_NewRef(value));
  return StepResult::Next;
}

// Borrowed; nullptr with or without an error set. Globals first, then builtins, as in LOAD_GLOBAL.
PyObject* find_global(Machine& m, PyObject* name) {
  PyObject* globals = m.frame.globals();
  PyObject* builtins = m.frame.builtins();
  if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(builtins)) return nullptr;
  PyObject* value = PyDict_GetItemWithError(globals, name);
  if (value || PyErr_Occurred()) return value;
  return PyDict_GetItemWithError(builtins, name);
}

}  // namespace

StepResult make_cell(Machine& m, const Instruction& in) {
  PyObject* cell = PyCell_New(m.frame.local(in.arg));
  if (!cell) return StepResult::Threw;
  m.frame.set_local(in.arg, cell);
  return StepResult::Next;
}

StepResult copy_free_vars(Machine& m, const Instruction& in) {
  PyObject* closure = PyFunction_GET_CLOSURE(m.frame.function());
  const int first = m.frame.local_count() - in.arg;
  for (int i = 0; i < in.arg; ++i) m.frame.set_local(first + i, Py_NewRef(PyTuple_GET_ITEM(closure, i)));
  return StepResult::Next;
}

StepResult load_const(Machine& m, const Instruction& in) {
  return push_borrowed(m, m.code.constant(in.arg));
}

StepResult load_fast(Machine& m, const Instruction& in) {
  return push_borrowed(m, m.frame.local(in.arg));
}

StepResult load_fast_and_clear(Machine& m, const Instruction& in) {
  m.frame.push(Py_XNewRef(m.frame.local(in.arg)));
  m.frame.set_local(in.arg, nullptr);
  return StepResult::Next;
}

StepResult store_fast(Machine& m, const Instruction& in) {
  m.frame.set_local(in.arg, m.frame.pop());
  return StepResult::Next;
}

StepResult load_fast_load_fast(Machine& m, const Instruction& in) {
  PyObject *first = m.frame.local(in.arg), *second = m.frame.local(in.aux);
  if (!first || !second) return StepResult::Exit;
  m.frame.push(Py_NewRef(first));
  m.frame.push(Py_NewRef(second));
  return StepResult::Next;
}

StepResult store_fast_load_fast(Machine& m, const Instruction& in) {
  if (in.aux != in.arg && !m.frame.local(in.aux)) return StepResult::Exit;
  m.frame.set_local(in.arg, m.frame.pop());
  m.frame.push(Py_NewRef(m.frame.local(in.aux)));
  return StepResult::Next;
}

StepResult store_fast_store_fast(Machine& m, const Instruction& in) {
  m.frame.set_local(in.arg, m.frame.pop());
  m.frame.set_local(in.aux, m.frame.pop());
  return StepResult::Next;
}

StepResult delete_fast(Machine& m, const Instruction& in) {
  if (!m.frame.local(in.arg)) return StepResult::Exit;
  m.frame.set_local(in.arg, nullptr);
  return StepResult::Next;
}

StepResult load_closure(Machine& m, const Instruction& in) {
  return push_borrowed(m, m.frame.local(in.arg));
}

StepResult load_deref(Machine& m, const Instruction& in) {
  return push_borrowed(m, PyCell_GET(m.frame.local(in.arg)));
}

StepResult store_deref(Machine& m, const Instruction& in) {
  PyObject* value = m.frame.pop();
  PyCell_Set(m.frame.local(in.arg), value);
  Py_DECREF(value);
  return StepResult::Next;
}

StepResult delete_deref(Machine& m, const Instruction& in) {
  PyObject* cell = m.frame.local(in.arg);
  if (!PyCell_GET(cell)) return StepResult::Exit;
  PyCell_Set(cell, nullptr);
  return StepResult::Next;
}

StepResult load_global(Machine& m, const Instruction& in) {
  PyObject* value = find_global(m, m.code.name(in.arg));
  if (!value) return PyErr_Occurred() ? StepResult::Threw : StepResult::Exit;
  Py_INCREF(value);
  if (in.flag)
    m.push_callable(value);
  else
    m.frame.push(value);
  return StepResult::Next;
}

StepResult store_global(Machine& m, const Instruction& in) {
  return m.done(1, PyDict_SetItem(m.frame.globals(), m.code.name(in.arg), m.peek(1)));
}

StepResult delete_global(Machine& m, const Instruction& in) {
  PyObject* name = m.code.name(in.arg);
  const int found = PyDict_Contains(m.frame.globals(), name);
  if (found < 0) return StepResult::Threw;
  if (found == 0) return StepResult::Exit;
  return m.done(0, PyDict_DelItem(m.frame.globals(), name));
}

StepResult pop_top(Machine& m, const Instruction&) {
  m.drop(1);
  return StepResult::Next;
}

StepResult push_null(Machine& m, const Instruction&) {
  m.frame.push(nullptr);
  return StepResult::Next;
}

StepResult copy(Machine& m, const Instruction& in) {
  m.frame.push(Py_XNewRef(m.peek(in.arg)));
  return StepResult::Next;
}

StepResult swap(Machine& m, const Instruction& in) {
  const int top = m.frame.depth() - 1;
  const int other = m.frame.depth() - in.arg;
  PyObject* first = Py_XNewRef(m.frame.stack(top));
  m.frame.set_stack(top, Py_XNewRef(m.frame.stack(other)));
  m.frame.set_stack(other, first);
  return StepResult::Next;
}

}  // namespace vitrine::capture::handlers
