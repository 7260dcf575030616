// Operators with one or two operands. Numbers that may change come first, then a tensor on either side, then
// what the program's own classes say, then the rows of both types; what is left is computed for real, of
// constants alone.
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/symbolic/derived_floats.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
#include "core/capture/interpreter/symbolic/symbolic_lists.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

constexpr OperatorRow kOperators[] = {
    {"add", "__add__", "__radd__", "+"},
    {"sub", "__sub__", "__rsub__", "-"},
    {"mul", "__mul__", "__rmul__", "*"},
    {"truediv", "__truediv__", "__rtruediv__", "/"},
    {"floordiv", "__floordiv__", "__rfloordiv__", "//"},
    {"mod", "__mod__", "__rmod__", "%"},
    {"pow", "__pow__", "__rpow__", "** or pow()"},
    {"matmul", "__matmul__", "__rmatmul__", "@"},
    {"lshift", "__lshift__", "__rlshift__", "<<"},
    {"rshift", "__rshift__", "__rrshift__", ">>"},
    {"and_", "__and__", "__rand__", "&"},
    {"or_", "__or__", "__ror__", "|"},
    {"xor", "__xor__", "__rxor__", "^"},
};

// "iadd" -> the row of "add", "and_" -> its own.
const OperatorRow* row_of(const std::string& op, bool* in_place) {
  for (const OperatorRow& row : kOperators) {
    const std::string plain = row.name;
    std::string augmented = "i" + plain;
    if (augmented.back() == '_') augmented.pop_back();
    if (op == plain || op == augmented) {
      *in_place = op == augmented;
      return &row;
    }
  }
  return nullptr;
}

std::string sign_of(const OperatorRow& row, bool in_place) {
  const std::string sign = row.sign;
  return in_place ? sign.substr(0, sign.find(' ')) + "=" : sign;
}

// a.method(b), then b.reflected(a); the other way round when b's class derives from a's and has its own
// reflected method, and only the first when both are of one class. nullptr: neither knows.
Value* user_binary(Tracer& t, const OperatorRow& row, Value* a, Value* b) {
  PyObject* first = may_have_methods(a) ? python_method(t, type_of(t, a), row.method) : nullptr;
  PyObject* second = may_have_methods(b) ? python_method(t, type_of(t, b), row.reflected) : nullptr;
  if (may_have_methods(a) && may_have_methods(b) && a->cls == b->cls) second = nullptr;
  const bool swapped = second && may_have_methods(a) && PyType_IsSubtype(b->cls, a->cls) &&
                       python_method(t, a->cls, row.reflected) != second;
  for (const bool right : {swapped, !swapped}) {
    PyObject* function = right ? second : first;
    if (!function) continue;
    Value* result = call_special(t, right ? b : a, function, {right ? a : b});
    if (const_object(t, result) != Py_NotImplemented) return result;
  }
  return nullptr;
}

// What the program's own classes say about an operator, also those that derive from list or tuple. nullptr:
// nothing.
Value* own_binary(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  const std::string method = op.row.method;
  if (op.in_place && may_have_methods(a))
    if (PyObject* own = python_method(t, type_of(t, a), ("__i" + method.substr(2)).c_str()))
      if (Value* result = call_special(t, a, own, {b}); const_object(t, result) != Py_NotImplemented)
        return result;
  // A list has its own +=, which its class's + does not replace.
  const bool grows =
      op.in_place && (a->is(ValueKind::List) || a->is(ValueKind::Dict) || a->is(ValueKind::Set));
  if (grows && lookup(type_of(t, a), "__i" + method.substr(2))) return nullptr;
  return user_binary(t, op.row, a, b);
}

// The last word on an operator of which neither side knows anything: numbers, None, and objects of plain
// classes.
bool has_no_operators(Tracer& t, Value* v) {
  if (v->is(ValueKind::Constant))
    return v->obj == Py_None || PyLong_Check(v->obj) || PyFloat_CheckExact(v->obj);
  if (!v->is(ValueKind::Object)) return false;
  for (PyTypeObject* type = type_of(t, v); type; type = type->tp_base)
    if (type != &PyBaseObject_Type && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  return true;
}

// Of two numbers one of which may change; nullptr: there is none.
Value* symbolic_result(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  if (Value* open = size_float(t, torch_names().operator_function(op.row.name), {a, b})) return open;
  if (Value* open = float_binary(t, op.row.name, op.in_place, a, b)) return open;
  if (Value* open = derived_float(t, torch_names().operator_function(op.row.name), {a, b})) return open;
  return op.name == "iadd" ? extend_symbolic_list(t, a, b) : nullptr;
}

// By the rows of both types; nullptr: neither knows it.
Value* result_by_type(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  for (const TypeOps* type : asked_in_order(a, b))
    if (Value* result = type->binary ? type->binary(t, op, a, b) : nullptr) return result;
  return nullptr;
}

Value* result_by_type(Tracer& t, const std::string& op, Value* a) {
  const TypeOps& type = ops_of(a);
  return type.unary ? type.unary(t, op, a) : nullptr;
}

}  // namespace

std::array<const TypeOps*, 2> asked_in_order(const Value* a, const Value* b) {
  const TypeOps &left = ops_of(a), &right = ops_of(b);
  if (right.precedence > left.precedence) return {&right, &left};
  return {&left, &right};
}

Value* binary(Tracer& t, const std::string& name, Value* a, Value* b) {
  bool in_place = false;
  const OperatorRow* row = row_of(name, &in_place);
  VITRINE_CHECK(row, "unknown operator " + name);
  const BinaryOperation op{*row, in_place, name};
  if (Value* result = symbolic_result(t, op, a, b)) return result;
  a = peek(t, a);
  b = peek(t, b);
  if (const TypeOps& first = *asked_in_order(a, b)[0]; first.precedence >= kBeforeClasses) {
    if (Value* result = first.binary(t, op, a, b)) return result;
    a = t.look(a);
    b = t.look(b);
  }
  if (Value* result = own_binary(t, op, a, b)) return result;
  if (Value* result = result_by_type(t, op, a, b)) return result;
  if (has_no_operators(t, a) && has_no_operators(t, b))
    t.raise(PyExc_TypeError,
            std::string("unsupported operand type(s) for ") + sign_of(*row, in_place) + ": '" +
                type_of(t, a)->tp_name + "' and '" + type_of(t, b)->tp_name + "'",
            true);
  PyRef left(constant_tree(t, a)), right(constant_tree(t, b));
  PyErr_Clear();
  if (!left || !right || in_place)
    stop("unsupported_value", std::string(row->name) + " of " + describe(t, a) + " and " + describe(t, b));
  return t.fold(PyObject_CallFunctionObjArgs(torch_names().operator_function(row->name), left.get(),
                                             right.get(), nullptr));
}

Value* unary(Tracer& t, const std::string& op, Value* a) {
  if (Value* open = size_float(t, torch_names().operator_function(op), {a})) return open;
  if (Value* open = op == "neg" ? float_negated(t, a) : nullptr) return open;
  if (Value* open = derived_float(t, torch_names().operator_function(op), {a})) return open;
  a = peek(t, a);
  if (ops_of(a).symbolic)
    if (Value* result = result_by_type(t, op, a)) return result;
  a = t.look(a);
  if (Value* result = result_by_type(t, op, a)) return result;
  stop("unsupported_value", op + " of " + describe(t, a));
}

}  // namespace vitrine::capture
