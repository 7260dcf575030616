// Jumps, iteration, unpacking, with, return.
#include "core/capture/concrete/handlers.h"

namespace vitrine::capture::handlers {
namespace {

// Truth of the top entry: 1, 0, or -1 with an error set.
int truth(PyObject* value) {
  if (value == Py_True) return 1;
  if (value == Py_False || value == Py_None) return 0;
  return PyObject_IsTrue(value);
}

StepResult pop_jump_if(Machine& m, const Instruction& in, bool wanted) {
  const int is = truth(m.peek(1));
  m.drop(1);
  if (is < 0) return StepResult::Threw;
  return (is != 0) == wanted ? m.jump(in) : StepResult::Next;
}

StepResult pop_jump_if_none_is(Machine& m, const Instruction& in, bool wanted) {
  const bool is = m.peek(1) == Py_None;
  m.drop(1);
  return is == wanted ? m.jump(in) : StepResult::Next;
}

StepResult jump_or_pop_if(Machine& m, const Instruction& in, bool wanted) {
  const int is = truth(m.peek(1));
  if (is < 0) return m.done(1, -1);
  if ((is != 0) == wanted) return m.jump(in);
  m.drop(1);
  return StepResult::Next;
}

// The first `n` items as a new list; fewer when the iterator ends before. nullptr: an error is set.
PyObject* take(PyObject* iterator, Py_ssize_t n) {
  PyObject* items = PyList_New(0);
  while (items && PyList_GET_SIZE(items) < n) {
    PyObject* item = PyIter_Next(iterator);
    if (!item) {
      if (PyErr_Occurred()) Py_CLEAR(items);
      break;
    }
    if (PyList_Append(items, item) < 0) Py_CLEAR(items);
    Py_DECREF(item);
  }
  return items;
}

// Sets the error that CPython words so. `star`: the items behind the ones before it, nullptr without a star.
bool counts_fit(PyObject* iterator, PyObject* head, PyObject* star, int before, int after) {
  const Py_ssize_t got = PyList_GET_SIZE(head) + (star ? PyList_GET_SIZE(star) : 0);
  if (got < before + after) {
    PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected %s%d, got %zd)",
                 star ? "at least " : "", before + after, got);
    return false;
  }
  if (star) return true;
  PyObject* extra = PyIter_Next(iterator);
  if (extra) {
    Py_DECREF(extra);
    PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", before);
  }
  return !PyErr_Occurred();
}

void push_items(Machine& m, PyObject* list, Py_ssize_t from, Py_ssize_t count) {
  while (count-- > 0) m.frame.push(Py_NewRef(PyList_GET_ITEM(list, from + count)));
}

// Replaces the top by its items, the first on top: `before` of them, then with a star a list of the middle
// ones and `after` more.
StepResult unpack_iterable(Machine& m, int before, int after, bool has_star) {
  PyObject* iterable = m.peek(1);
  if (!Py_TYPE(iterable)->tp_iter && !PySequence_Check(iterable)) return StepResult::Exit;
  PyObject* iterator = PyObject_GetIter(iterable);
  PyObject* head = iterator ? take(iterator, before) : nullptr;
  PyObject* star = head && has_star ? PySequence_List(iterator) : nullptr;
  const bool read = head && (star || !has_star);
  const bool fits = read && counts_fit(iterator, head, star, before, after);
  Py_XDECREF(iterator);
  m.drop(1);
  if (fits) {
    if (star) {
      const Py_ssize_t middle = PyList_GET_SIZE(star) - after;
      push_items(m, star, middle, after);
      PyList_SetSlice(star, middle, middle + after, nullptr);
      m.frame.push(Py_NewRef(star));
    }
    push_items(m, head, 0, before);
  }
  Py_XDECREF(star);
  Py_XDECREF(head);
  return fits ? StepResult::Next : StepResult::Threw;
}

// A special method, looked up on the type and bound; nullptr, perhaps without an error, when there is none.
PyObject* special(PyObject* manager, const char* text) {
  PyTypeObject* type = Py_TYPE(manager);
  PyObject* name = PyUnicode_InternFromString(text);
  PyObject* found = name ? _PyType_Lookup(type, name) : nullptr;  // borrowed
  Py_XDECREF(name);
  if (!found) return nullptr;
  const descrgetfunc bind = Py_TYPE(found)->tp_descr_get;
  return bind ? bind(found, manager, reinterpret_cast<PyObject*>(type)) : Py_NewRef(found);
}

}  // namespace

StepResult nop(Machine&, const Instruction&) {
  return StepResult::Next;
}

StepResult resume(Machine& m, const Instruction& in) {
  constexpr int kPlace = 3;  // from 3.13 on the bit above says something else
  return (in.arg & kPlace) < 2 ? m.poll() : StepResult::Next;
}

StepResult jump(Machine& m, const Instruction& in) {
  return m.jump(in);
}

StepResult pop_jump_if_false(Machine& m, const Instruction& in) {
  return pop_jump_if(m, in, false);
}
StepResult pop_jump_if_true(Machine& m, const Instruction& in) {
  return pop_jump_if(m, in, true);
}
StepResult pop_jump_if_none(Machine& m, const Instruction& in) {
  return pop_jump_if_none_is(m, in, true);
}
StepResult pop_jump_if_not_none(Machine& m, const Instruction& in) {
  return pop_jump_if_none_is(m, in, false);
}
StepResult jump_if_false_or_pop(Machine& m, const Instruction& in) {
  return jump_or_pop_if(m, in, false);
}
StepResult jump_if_true_or_pop(Machine& m, const Instruction& in) {
  return jump_or_pop_if(m, in, true);
}

StepResult get_iter(Machine& m, const Instruction&) {
  return m.replace(1, PyObject_GetIter(m.peek(1)));
}

StepResult for_iter(Machine& m, const Instruction& in) {
  PyObject* iterator = m.peek(1);
  PyObject* item = Py_TYPE(iterator)->tp_iternext(iterator);
  if (item) return m.replace(0, item);
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return StepResult::Threw;
    PyErr_Clear();
  }
  m.drop(1);
  return m.jump(in);
}

StepResult unpack_sequence(Machine& m, const Instruction& in) {
  return unpack_iterable(m, in.arg, 0, false);
}

StepResult unpack_ex(Machine& m, const Instruction& in) {
  return unpack_iterable(m, in.arg & 0xFF, in.arg >> 8, true);
}

StepResult return_value(Machine& m, const Instruction&) {
  return m.finish(m.frame.pop());
}

StepResult return_const(Machine& m, const Instruction& in) {
  return m.finish(Py_NewRef(m.code.constant(in.arg)));
}

StepResult before_with(Machine& m, const Instruction&) {
  PyObject* manager = m.peek(1);
  PyObject* enter = special(manager, "__enter__");
  PyObject* exit = enter ? special(manager, "__exit__") : nullptr;
  if (!exit) {
    Py_XDECREF(enter);
    return PyErr_Occurred() ? StepResult::Threw : StepResult::Exit;  // CPython words the error
  }
  m.frame.set_stack(m.frame.depth() - 1, exit);
  PyObject* entered = PyObject_CallNoArgs(enter);
  Py_DECREF(enter);
  return m.replace(0, entered);
}

}  // namespace vitrine::capture::handlers
