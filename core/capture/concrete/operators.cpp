// Operators, comparisons, subscripts and attributes.
#include <array>

#include "core/capture/concrete/handlers.h"

#include <internal/pycore_object.h>

namespace vitrine::capture::handlers {
namespace {

PyObject* power(PyObject* a, PyObject* b) {
  return PyNumber_Power(a, b, Py_None);
}
PyObject* in_place_power(PyObject* a, PyObject* b) {
  return PyNumber_InPlacePower(a, b, Py_None);
}

// By the arg of Op::Binary: the operators of BinaryOperator in order, then their in-place forms.
constexpr std::array<binaryfunc, 26> kBinary = {
    PyNumber_Add,
    PyNumber_And,
    PyNumber_FloorDivide,
    PyNumber_Lshift,
    PyNumber_MatrixMultiply,
    PyNumber_Multiply,
    PyNumber_Remainder,
    PyNumber_Or,
    power,
    PyNumber_Rshift,
    PyNumber_Subtract,
    PyNumber_TrueDivide,
    PyNumber_Xor,
    PyNumber_InPlaceAdd,
    PyNumber_InPlaceAnd,
    PyNumber_InPlaceFloorDivide,
    PyNumber_InPlaceLshift,
    PyNumber_InPlaceMatrixMultiply,
    PyNumber_InPlaceMultiply,
    PyNumber_InPlaceRemainder,
    PyNumber_InPlaceOr,
    in_place_power,
    PyNumber_InPlaceRshift,
    PyNumber_InPlaceSubtract,
    PyNumber_InPlaceTrueDivide,
    PyNumber_InPlaceXor,
};

PyObject* boolean(int truth) {  // -1: an error is set
  return truth < 0 ? nullptr : PyBool_FromLong(truth);
}

}  // namespace

StepResult unary_positive(Machine& m, const Instruction&) {
  return m.replace(1, PyNumber_Positive(m.peek(1)));
}
StepResult unary_negative(Machine& m, const Instruction&) {
  return m.replace(1, PyNumber_Negative(m.peek(1)));
}
StepResult unary_invert(Machine& m, const Instruction&) {
  return m.replace(1, PyNumber_Invert(m.peek(1)));
}
StepResult unary_not(Machine& m, const Instruction&) {
  return m.replace(1, boolean(PyObject_Not(m.peek(1))));
}

StepResult to_bool(Machine& m, const Instruction&) {
  return m.replace(1, boolean(PyObject_IsTrue(m.peek(1))));
}

StepResult binary(Machine& m, const Instruction& in) {
  if (in.arg < 0 || in.arg >= static_cast<int>(kBinary.size())) return StepResult::Exit;
  return m.replace(2, kBinary[static_cast<size_t>(in.arg)](m.peek(2), m.peek(1)));
}

StepResult compare(Machine& m, const Instruction& in) {
  return m.replace(2, PyObject_RichCompare(m.peek(2), m.peek(1), in.arg));
}

StepResult is(Machine& m, const Instruction& in) {
  return m.replace(2, boolean((m.peek(2) == m.peek(1)) != in.flag));
}

StepResult contains(Machine& m, const Instruction& in) {
  const int found = PySequence_Contains(m.peek(1), m.peek(2));
  return m.replace(2, found < 0 ? nullptr : boolean((found != 0) != in.flag));
}

StepResult subscript(Machine& m, const Instruction&) {
  return m.replace(2, PyObject_GetItem(m.peek(2), m.peek(1)));
}

StepResult load_slice(Machine& m, const Instruction&) {
  PyObject* slice = PySlice_New(m.peek(2), m.peek(1), nullptr);
  PyObject* result = slice ? PyObject_GetItem(m.peek(3), slice) : nullptr;
  Py_XDECREF(slice);
  return m.replace(3, result);
}

StepResult store_slice(Machine& m, const Instruction&) {
  PyObject* slice = PySlice_New(m.peek(2), m.peek(1), nullptr);
  const int status = slice ? PyObject_SetItem(m.peek(3), slice, m.peek(4)) : -1;
  Py_XDECREF(slice);
  return m.done(4, status);
}

StepResult store_subscript(Machine& m, const Instruction&) {
  return m.done(3, PyObject_SetItem(m.peek(2), m.peek(1), m.peek(3)));
}

StepResult delete_subscript(Machine& m, const Instruction&) {
  return m.done(2, PyObject_DelItem(m.peek(2), m.peek(1)));
}

StepResult load_attr(Machine& m, const Instruction& in) {
  return m.replace(1, PyObject_GetAttr(m.peek(1), m.code.name(in.arg)));
}

StepResult load_method(Machine& m, const Instruction& in) {
  PyObject* object = m.peek(1);
  PyObject* found = nullptr;
  const int unbound = _PyObject_GetMethod(object, m.code.name(in.arg), &found);
  if (!found) return m.done(1, -1);
  if (unbound) {  // function, self
    Py_INCREF(object);
    m.drop(1);
    m.frame.push(found);
    m.frame.push(object);
  } else {
    m.drop(1);
    m.push_callable(found);
  }
  return StepResult::Next;
}

StepResult load_super_attr(Machine& m, const Instruction& in) {
  PyObject* arguments[] = {m.peek(2), m.peek(1)};
  PyObject* super = PyObject_Vectorcall(m.peek(3), arguments, in.aux == 1 ? 2 : 0, nullptr);
  PyObject* found = super ? PyObject_GetAttr(super, m.code.name(in.arg)) : nullptr;
  Py_XDECREF(super);
  if (!found) return m.done(3, -1);
  m.drop(3);
  if (in.flag)
    m.push_callable(found);
  else
    m.frame.push(found);
  return StepResult::Next;
}

StepResult store_attr(Machine& m, const Instruction& in) {
  return m.done(2, PyObject_SetAttr(m.peek(1), m.code.name(in.arg), m.peek(2)));
}

StepResult delete_attr(Machine& m, const Instruction& in) {
  return m.done(1, PyObject_DelAttr(m.peek(1), m.code.name(in.arg)));
}

StepResult get_len(Machine& m, const Instruction&) {
  const Py_ssize_t length = PyObject_Length(m.peek(1));
  return m.replace(0, length < 0 ? nullptr : PyLong_FromSsize_t(length));
}

StepResult match_mapping(Machine& m, const Instruction&) {
  return m.replace(0, boolean((Py_TYPE(m.peek(1))->tp_flags & Py_TPFLAGS_MAPPING) != 0));
}

StepResult match_sequence(Machine& m, const Instruction&) {
  return m.replace(0, boolean((Py_TYPE(m.peek(1))->tp_flags & Py_TPFLAGS_SEQUENCE) != 0));
}

}  // namespace vitrine::capture::handlers
