// Comparisons, `is`, `in`, truth and length, of any values.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/derived_floats.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/numbers/numpy_values.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

constexpr std::array<const char*, 6> kCompare = {"lt", "le", "eq", "ne", "gt", "ge"};
constexpr std::array<const char*, 6> kCompareMethod = {"__lt__", "__le__", "__eq__",
                                                       "__ne__", "__gt__", "__ge__"};

// a.method(b), then b's reflected; the other way round when b's class derives from a's. nullptr: neither
// knows.
Value* user_compare(Tracer& t, int op, Value* a, Value* b) {
  const auto row = static_cast<size_t>(op), reflected = std::array<size_t, 6>{4, 5, 2, 3, 0, 1}[row];
  const bool swapped =
      may_have_methods(a) && may_have_methods(b) && a->cls != b->cls && PyType_IsSubtype(b->cls, a->cls);
  for (const bool right : {swapped, !swapped}) {
    Value *self = right ? b : a, *other = right ? a : b;
    if (!may_have_methods(self)) continue;
    PyObject* method = python_method(t, type_of(t, self), kCompareMethod[right ? reflected : row]);
    // object.__ne__ asks __eq__.
    PyObject* inverse = !method && op == Py_NE ? python_method(t, self->cls, "__eq__") : nullptr;
    if (!method && !inverse) continue;
    Value* result = call_special(t, self, method ? method : inverse, {other});
    if (const_object(t, result) != Py_NotImplemented) return method ? result : t.boolean(!truth(t, result));
  }
  return nullptr;
}

}  // namespace

const char* name_of_comparison(int op) {
  return kCompare[static_cast<size_t>(op)];
}

// Of integers CPython keeps these.
static bool is_one_object(PyObject* number) {
  if (!PyLong_CheckExact(number)) return false;
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(number, &overflow);
  return overflow == 0 && value >= -5 && value <= 256;
}

bool same(Tracer& t, Value* a, Value* b) {
  a = resolve(a);
  b = resolve(b);
  if (a == b) return true;
  // `x is None` needs only the type when x is something else.
  for (auto [one, other] : {std::pair{a, b}, std::pair{b, a}})
    if (other->is(ValueKind::Constant) && other->obj == Py_None) return is_none(t, one);
  a = t.look(a);
  b = t.look(b);
  if (a == b) return true;
  // CPython keeps one reference an object.
  if (a->cls == &_PyWeakref_RefType && b->cls == &_PyWeakref_RefType && (!a->obj || !b->obj))
    stop("unsupported_value", "the identity of a weak reference made here");
  if (a->is(ValueKind::Constant) && b->is(ValueKind::Constant)) {
    if (a->obj == b->obj) return true;
    // Numbers and text made by folding have no certain identity.
    const bool fuzzy =
        Py_TYPE(a->obj) == Py_TYPE(b->obj) &&
        (PyLong_Check(a->obj) || PyFloat_Check(a->obj) || PyUnicode_Check(a->obj) || PyTuple_Check(a->obj) ||
         PyComplex_Check(a->obj) || PyBytes_Check(a->obj) || is_numpy_number(a->obj));
    if (fuzzy && !PyBool_Check(a->obj)) {
      const int equal = PyObject_RichCompareBool(a->obj, b->obj, Py_EQ);
      if (equal < 0) t.raise_python();
      if (!equal) return false;
      if (is_one_object(a->obj)) return true;
      stop("unsupported_value", "the identity of equal constants");
    }
    return false;
  }
  if (is_plain_tuple(a) && is_plain_tuple(b) && a->items().empty() &&
      b->items().empty()) {  // there is but one
    guard_length(t, a);
    guard_length(t, b);
    return true;
  }
  // Two objects that existed before: they are different now, and must be next time.
  if (a->source && b->source && a->kind() == b->kind() && !(a->pinned && b->pinned))
    t.guard(GuardKind::DifferentObject, a->source, nullptr, 0, "", b->source, "is not " + b->source->text());
  // Of another type than what it is compared with, now and next time.
  if (a->kind() != b->kind())
    for (Value* v : {a, b})
      if (v->source && !v->pinned) type_of(t, v);
  return false;
}

Value* compare(Tracer& t, int op, Value* a, Value* b) {
  if (Value* answer = float_compare(t, op, a, b)) return answer;
  if (Value* answer = float_beside_tensor(t, name_of_comparison(op), a, b)) return answer;
  a = peek(t, a);
  b = peek(t, b);
  if (const TypeOps& first = *asked_in_order(a, b)[0]; first.precedence >= kBeforeClasses) {
    if (Value* answer = first.compare(t, op, a, b)) return answer;
    a = t.look(a);
    b = t.look(b);
  }
  if (a->is(ValueKind::Constant) && b->is(ValueKind::Constant)) return ops_of(a).compare(t, op, a, b);
  if (Value* result = user_compare(t, op, a, b)) return result;
  if (op == Py_EQ || op == Py_NE) return t.boolean(equal(t, a, b) == (op == Py_EQ));
  PyRef left(constant_tree(t, a)), right(constant_tree(t, b));
  PyErr_Clear();
  if (left && right) return t.fold(PyObject_RichCompare(left.get(), right.get(), op));
  const TypeOps& type = ops_of(a);
  if (Value* result = type.compare ? type.compare(t, op, a, b) : nullptr) return result;
  stop("unsupported_value", "comparison of " + describe(t, a) + " with " + describe(t, b));
}

namespace {

bool by_identity(const Value* v) {
  return v->is(ValueKind::Function) ||
         (v->is(ValueKind::Object) && v->cls->tp_richcompare == PyBaseObject_Type.tp_richcompare);
}

bool is_builtin(const Value* v) {
  return v->is(ValueKind::List) || v->is(ValueKind::Tuple) || v->is(ValueKind::Dict) ||
         v->is(ValueKind::Constant) || v->is(ValueKind::Set);
}

// Of two values that their types know nothing of.
bool equal_otherwise(Tracer& t, Value* a, Value* b) {
  PyRef left(constant_tree(t, a)), right(constant_tree(t, b));
  PyErr_Clear();
  if (left && right) {
    const int yes = PyObject_RichCompareBool(left.get(), right.get(), Py_EQ);
    if (yes < 0) t.raise_python();
    return yes;
  }
  if (by_identity(a) && by_identity(b)) return same(t, a, b);
  if (is_regular_expression(a) && is_regular_expression(b))
    return PyObject_RichCompareBool(known_object(t, a), known_object(t, b), Py_EQ) == 1;
  const auto by_itself = [](const Value* v) { return by_identity(v) || is_regular_expression(v); };
  if ((by_itself(a) && is_builtin(b)) || (is_builtin(a) && by_itself(b))) return false;
  if (is_builtin(a) && is_builtin(b) && a->kind() != b->kind()) return false;
  stop("unsupported_value", "comparison of " + describe(t, a) + " with " + describe(t, b));
}

}  // namespace

bool equal(Tracer& t, Value* a, Value* b) {
  const Nested nested(t.frames.nesting);
  a = t.look(a);
  b = t.look(b);
  if (a == b && !a->is(ValueKind::Tensor)) {
    if (!a->is(ValueKind::Constant) || !PyFloat_Check(a->obj)) return true;
  }
  for (const TypeOps* type : asked_in_order(a, b))
    if (const auto answer = type->equal ? type->equal(t, a, b) : std::nullopt) return *answer;
  return equal_otherwise(t, a, b);
}

// As containers compare: an object is found without being asked.
bool same_or_equal(Tracer& t, Value* candidate, Value* item) {
  if (resolve(candidate) == resolve(item)) return true;
  Value *a = peek(t, candidate), *b = peek(t, item);
  const auto is_nan = [](const Value* v) {
    return v->is(ValueKind::Constant) && PyFloat_Check(v->obj) && std::isnan(PyFloat_AS_DOUBLE(v->obj));
  };
  if (a != b && is_nan(a) && is_nan(b)) stop("unsupported_value", "whether a nan is the same object");
  return a == b || truth(t, compare(t, Py_EQ, a, b));
}

bool contains(Tracer& t, Value* container, Value* item) {
  container = t.look(container);
  const TypeOps& type = ops_of(container);
  if (container->cls && !container->is(ValueKind::Constant) && !container->is(ValueKind::Tensor))
    if (PyObject* method = python_method(t, type_of(t, container), "__contains__"))
      return truth(t, call_special(t, container, method, {item}));
  if (!type.contains) stop("unsupported_value", "`in` " + describe(t, container));
  return type.contains(t, container, item);
}

// What its class's __bool__ or __len__ says; -1: it has neither.
int checked_truth(Tracer& t, Value* v) {
  if (PyObject* method = python_method(t, type_of(t, v), "__bool__")) {
    Value* told = call_special(t, v, method, {});
    if (type_of(t, told) != &PyBool_Type) stop("exception", "__bool__ gives " + describe(t, told));
    return truth(t, told);
  }
  PyObject* method = python_method(t, v->cls, "__len__");
  return method ? checked_length(t, v, method) != 0 : -1;
}

int64_t checked_length(Tracer& t, Value* v, PyObject* method) {
  const int64_t n = int_of(t, call_special(t, v, method, {}), "len()");
  if (n < 0) t.raise(PyExc_ValueError, "__len__() should return >= 0", true);
  return n;
}

bool truth_of_container(Tracer& t, Value* v, const char*) {
  if (const int told = checked_truth(t, v); told >= 0) return told;
  return length(t, v) != 0;
}

bool truth(Tracer& t, Value* v, const char* where) {
  v = resolve(v);
  if (Value* open = symbolic(t, v)) return symbolic_compare(t, Py_NE, open, t.integer(0))->obj == Py_True;
  if (Value* answer = float_compare(t, Py_NE, v, t.integer(0))) return answer->obj == Py_True;
  // A value whose type has no __bool__ or __len__ is true: the type is enough.
  if (made_anew(t, v) && type_of(t, v)) return true;
  v = t.look(v);
  const TypeOps& type = ops_of(v);
  return !type.truth || type.truth(t, v, where);
}

Value* len(Tracer& t, Value* v) {
  v = t.look(v);
  PyObject* method = may_have_methods(v) ? python_method(t, type_of(t, v), "__len__") : nullptr;
  return t.integer(method ? checked_length(t, v, method) : length(t, v));
}

int64_t length(Tracer& t, Value* v) {
  v = t.look(v);
  const TypeOps& type = ops_of(v);
  if (!type.length) stop("unsupported_value", "len() of a " + describe(t, v));
  return type.length(t, v);
}

}  // namespace vitrine::capture
