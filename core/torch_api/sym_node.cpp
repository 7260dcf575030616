#include "core/torch_api/sym_node.h"

#include <Python.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string_view>

#include "core/base/once.h"
#include "core/torch_api/border.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

using ir::Sym;

// A yes or no that has not been asked yet: asking it makes a guard.
struct Truth {
  enum class Kind : uint8_t { constant, equal, less_equal, both, either, negated };
  Kind kind = Kind::constant;
  bool value = false;                     // constant
  Sym a, b;                               // equal, less_equal
  std::shared_ptr<const Truth> of, and_;  // both, either, negated
};
using TruthPtr = std::shared_ptr<const Truth>;

// equal, less_equal: of two Syms.
template <class Equal, class LessEqual>
bool evaluated(const Truth& t, const Equal& equal, const LessEqual& less_equal) {
  const auto again = [&](const Truth& part) { return evaluated(part, equal, less_equal); };
  switch (t.kind) {
    case Truth::Kind::constant:
      return t.value;
    case Truth::Kind::equal:
      return equal(t.a, t.b);
    case Truth::Kind::less_equal:
      return less_equal(t.a, t.b);
    case Truth::Kind::both:
      return again(*t.of) && again(*t.and_);
    case Truth::Kind::either:
      return again(*t.of) || again(*t.and_);
    case Truth::Kind::negated:
      return !again(*t.of);
  }
  return false;
}

bool ask(const Truth& t) {
  return evaluated(
      t, [](const Sym& a, const Sym& b) { return ir::equal(a, b); },
      [](const Sym& a, const Sym& b) { return ir::less_equal(a, b); });
}
bool holds_at_hints(const Truth& t) {
  return evaluated(
      t, [](const Sym& a, const Sym& b) { return a.hint() == b.hint(); },
      [](const Sym& a, const Sym& b) { return a.hint() <= b.hint(); });
}

// The same where no guard is needed to say so; nothing: it depends on the sizes.
std::optional<bool> known(const Truth& t);

std::optional<bool> known_relation(const Truth& t) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();  // the end of x[3:]
  if (t.kind == Truth::Kind::less_equal && !t.b.symbolic() && t.b.hint() == kMost) return true;
  const ir::SymRange range = ir::known_range(t.a - t.b);
  if (t.kind == Truth::Kind::less_equal) {
    if (range.hi <= 0) return true;
    if (range.lo > 0) return false;
    return std::nullopt;
  }
  if (range.lo == 0 && range.hi == 0) return true;
  if (range.lo > 0 || range.hi < 0) return false;
  return std::nullopt;
}

std::optional<bool> known(const Truth& t) {
  if (t.kind == Truth::Kind::constant) return t.value;
  if (t.kind == Truth::Kind::equal || t.kind == Truth::Kind::less_equal) return known_relation(t);
  const std::optional<bool> first = known(*t.of);
  if (t.kind == Truth::Kind::negated) return first ? std::optional(!*first) : std::nullopt;
  const std::optional<bool> second = known(*t.and_);
  const bool decides = t.kind == Truth::Kind::either;  // a side that is so decides alone
  if (first == decides || second == decides) return decides;
  return first && second ? std::optional(!decides) : std::nullopt;
}

// What stands behind a torch.SymInt, SymBool or SymFloat. A SymFloat's value is fixed.
struct SizeNode {
  PyObject_HEAD enum class Kind : uint8_t { integer, truth, real } kind;
  Sym integer;
  TruthPtr truth;
  double real;
};

PyTypeObject* node_type();

SizeNode* node_of(PyObject* o) {
  return Py_TYPE(o) == node_type() ? reinterpret_cast<SizeNode*>(o) : nullptr;
}
SizeNode& self_of(PyObject* self) {
  return *reinterpret_cast<SizeNode*>(self);
}

PyObject* make_node(SizeNode::Kind kind, const Sym& integer, TruthPtr truth, double real) {
  PyTypeObject* type = node_type();
  PyObject* self = type ? type->tp_alloc(type, 0) : nullptr;
  if (!self) return nullptr;
  SizeNode& node = self_of(self);
  node.kind = kind;
  new (&node.integer) Sym(integer);
  new (&node.truth) TruthPtr(std::move(truth));
  node.real = real;
  return self;
}
PyObject* make_integer(const Sym& value) {
  return make_node(SizeNode::Kind::integer, value, nullptr, 0);
}
PyObject* make_truth(Truth truth) {
  return make_node(SizeNode::Kind::truth, 0, std::make_shared<const Truth>(std::move(truth)), 0);
}
PyObject* make_real(double value) {
  return make_node(SizeNode::Kind::real, 0, nullptr, value);
}

void free_node(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  self_of(self).truth.~TruthPtr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* unknown(const char* what) {
  return PyErr_Format(PyExc_NotImplementedError, "%s of sizes that are expressions", what);
}

// A number as a real one: the size is fixed.
double real_of(const SizeNode& node) {
  return node.kind == SizeNode::Kind::real ? node.real
                                           : static_cast<double>(static_cast<int64_t>(node.integer));
}

// Anything with a real number in it is computed now.
template <double (*reals)(double, double)>
PyObject* of_reals(PyObject* self, PyObject* other) {
  const SizeNode &a = self_of(self), *b = node_of(other);
  if (!b || a.kind == SizeNode::Kind::truth || b->kind == SizeNode::Kind::truth) return unknown("arithmetic");
  return make_real(reals(real_of(a), real_of(*b)));
}
// Of two integers an expression.
template <Sym (*integers)(const Sym&, const Sym&), double (*reals)(double, double)>
PyObject* arithmetic(PyObject* self, PyObject* other) {
  const SizeNode &a = self_of(self), *b = node_of(other);
  const bool whole = b && a.kind == SizeNode::Kind::integer && b->kind == SizeNode::Kind::integer;
  return whole ? make_integer(integers(a.integer, b->integer)) : of_reals<reals>(self, other);
}
Sym difference(const Sym& a, const Sym& b) {
  return a - b;
}
double add_reals(double a, double b) {
  return a + b;
}
double subtract_reals(double a, double b) {
  return a - b;
}
double multiply_reals(double a, double b) {
  return a * b;
}
double divide_reals(double a, double b) {
  return a / b;
}
double power_of_reals(double a, double b) {
  return std::pow(a, b);
}
double floor_of_quotient(double a, double b) {
  return std::floor(a / b);
}
double remainder_of_reals(double a, double b) {
  return a - b * std::floor(a / b);
}
double smaller_real(double a, double b) {
  return std::fmin(a, b);
}
double larger_real(double a, double b) {
  return std::fmax(a, b);
}

PyObject* power(PyObject* self, PyObject* other) {
  const SizeNode &a = self_of(self), *b = node_of(other);
  if (!b || a.kind != SizeNode::Kind::integer || b->kind != SizeNode::Kind::integer)
    return of_reals<power_of_reals>(self, other);
  const int64_t exponent = b->integer;
  if (exponent < 0) return of_reals<power_of_reals>(self, other);
  if (exponent > 64) return unknown("a high power");
  Sym out = 1;
  for (int64_t i = 0; i < exponent; ++i) out = ir::mul(out, a.integer);
  return make_integer(out);
}

enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge };
bool compare_reals(Comparison asked, double a, double b) {
  switch (asked) {
    case Comparison::eq:
      return a == b;
    case Comparison::ne:
      return a != b;
    case Comparison::lt:
      return a < b;
    case Comparison::le:
      return a <= b;
    case Comparison::gt:
      return a > b;
    case Comparison::ge:
      return a >= b;
  }
  return false;
}
Truth negated(Truth truth) {
  return {Truth::Kind::negated, false, 0, 0, std::make_shared<const Truth>(std::move(truth)), nullptr};
}
Truth compare_integers(Comparison asked, const Sym& a, const Sym& b) {
  const auto relation = [](Truth::Kind kind, const Sym& x, const Sym& y) {
    return Truth{kind, false, x, y, nullptr, nullptr};
  };
  switch (asked) {
    case Comparison::eq:
      return relation(Truth::Kind::equal, a, b);
    case Comparison::ne:
      return negated(relation(Truth::Kind::equal, a, b));
    case Comparison::le:
      return relation(Truth::Kind::less_equal, a, b);
    case Comparison::ge:
      return relation(Truth::Kind::less_equal, b, a);
    case Comparison::gt:
      return negated(relation(Truth::Kind::less_equal, a, b));
    case Comparison::lt:
      return negated(relation(Truth::Kind::less_equal, b, a));
  }
  return {};
}

TruthPtr truth_of(const SizeNode& node) {
  if (node.kind == SizeNode::Kind::truth) return node.truth;
  if (node.kind == SizeNode::Kind::real)
    return std::make_shared<const Truth>(
        Truth{Truth::Kind::constant, node.real != 0, 0, 0, nullptr, nullptr});
  return std::make_shared<const Truth>(compare_integers(Comparison::ne, node.integer, 0));
}

template <Comparison asked>
PyObject* compared(PyObject* self, PyObject* other) {
  const SizeNode &a = self_of(self), *b = node_of(other);
  if (!b) return unknown("a comparison");
  if (a.kind == SizeNode::Kind::truth || b->kind == SizeNode::Kind::truth) {  // only by value
    const bool x = ask(*truth_of(a)), y = ask(*truth_of(*b));
    return make_truth({Truth::Kind::constant, compare_reals(asked, x, y), 0, 0, nullptr, nullptr});
  }
  if (a.kind == SizeNode::Kind::integer && b->kind == SizeNode::Kind::integer)
    return make_truth(compare_integers(asked, a.integer, b->integer));
  const bool answer = compare_reals(asked, real_of(a), real_of(*b));
  return make_truth({Truth::Kind::constant, answer, 0, 0, nullptr, nullptr});
}

template <Truth::Kind kind>
PyObject* joined(PyObject* self, PyObject* other) {
  const SizeNode* b = node_of(other);
  if (!b) return unknown("logic");
  return make_truth({kind, false, 0, 0, truth_of(self_of(self)), truth_of(*b)});
}
PyObject* opposite(PyObject* self, PyObject*) {
  return make_truth({Truth::Kind::negated, false, 0, 0, truth_of(self_of(self)), nullptr});
}
PyObject* chosen(PyObject* self, PyObject* args) {
  PyObject *yes = nullptr, *no = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &yes, &no)) return nullptr;
  return Py_NewRef(ask(*truth_of(self_of(self))) ? yes : no);
}

PyObject* neg(PyObject* self, PyObject*) {
  const SizeNode& a = self_of(self);
  return a.kind == SizeNode::Kind::real ? make_real(-a.real) : make_integer(-a.integer);
}
PyObject* whole(PyObject* self, PyObject*) {  // of an integer: itself; clone
  const SizeNode& a = self_of(self);
  return make_node(a.kind, a.integer, a.truth, a.real);
}
PyObject* floored(PyObject* self, PyObject* nothing) {
  const SizeNode& a = self_of(self);
  return a.kind == SizeNode::Kind::real ? make_integer(static_cast<int64_t>(std::floor(a.real)))
                                        : whole(self, nothing);
}
PyObject* ceiled(PyObject* self, PyObject* nothing) {
  const SizeNode& a = self_of(self);
  return a.kind == SizeNode::Kind::real ? make_integer(static_cast<int64_t>(std::ceil(a.real)))
                                        : whole(self, nothing);
}
PyObject* as_real(PyObject* self, PyObject*) {
  return make_real(real_of(self_of(self)));
}

PyObject* wrap_int(PyObject*, PyObject* number) {
  const long long value = PyLong_AsLongLong(number);
  return value == -1 && PyErr_Occurred() ? nullptr : make_integer(static_cast<int64_t>(value));
}
PyObject* wrap_real(PyObject*, PyObject* number) {
  const double value = PyFloat_AsDouble(number);
  return value == -1 && PyErr_Occurred() ? nullptr : make_real(value);
}
PyObject* wrap_truth(PyObject*, PyObject* value) {
  return make_truth({Truth::Kind::constant, value == Py_True, 0, 0, nullptr, nullptr});
}

template <SizeNode::Kind kind>
PyObject* is_kind(PyObject* self, PyObject*) {
  return PyBool_FromLong(self_of(self).kind == kind);
}
PyObject* yes(PyObject*, PyObject*) {
  Py_RETURN_TRUE;
}
PyObject* no(PyObject*, PyObject*) {
  Py_RETURN_FALSE;
}
PyObject* nothing(PyObject*, PyObject*) {
  Py_RETURN_NONE;
}

// Answers that fix what they are about, or guard it.
PyObject* fixed_int(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(static_cast<int64_t>(self_of(self).integer));
}
PyObject* fixed_real(PyObject* self, PyObject*) {
  return PyFloat_FromDouble(real_of(self_of(self)));
}
PyObject* asked(PyObject* self, PyObject*) {
  return PyBool_FromLong(ask(*truth_of(self_of(self))));
}
// PyTorch takes a shorter way where it is certain (x[:n] of all is x itself), as it does of numbers. So that
// the recording is that of its first sizes, what holds for these is asked for: that is a guard.
PyObject* surely(PyObject* self, PyObject*) {
  const Truth& t = *truth_of(self_of(self));
  return PyBool_FromLong(known(t).value_or(false) || (holds_at_hints(t) && ask(t)));
}
PyObject* constant_int(PyObject* self, PyObject*) {
  const SizeNode& a = self_of(self);
  if (a.kind != SizeNode::Kind::integer || a.integer.symbolic()) Py_RETURN_NONE;
  return PyLong_FromLongLong(a.integer.hint());
}
PyObject* shown(PyObject* self, PyObject*) {
  const SizeNode& a = self_of(self);
  const std::string text = a.kind == SizeNode::Kind::integer ? ir::text(a.integer)
                           : a.kind == SizeNode::Kind::real  ? std::to_string(a.real)
                                                             : "a comparison";
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}
PyObject* represent(PyObject* self) {
  return shown(self, nullptr);
}

#define ONE(name, function) {name, border<function>, METH_NOARGS, nullptr}
#define TWO(name, ...) {name, border<__VA_ARGS__>, METH_O, nullptr}
#define ANY(name, function) {name, border<function>, METH_VARARGS, nullptr}
PyMethodDef kMethods[] = {
    // Arithmetic.
    TWO("add", arithmetic<ir::add, add_reals>),
    TWO("sub", arithmetic<difference, subtract_reals>),
    TWO("mul", arithmetic<ir::mul, multiply_reals>),
    TWO("floordiv", arithmetic<ir::floordiv, floor_of_quotient>),
    TWO("int_floordiv", arithmetic<ir::floordiv, floor_of_quotient>),
    TWO("mod", arithmetic<ir::mod, remainder_of_reals>),
    TWO("sym_min", arithmetic<ir::min, smaller_real>),
    TWO("sym_max", arithmetic<ir::max, larger_real>),
    TWO("truediv", of_reals<divide_reals>),
    TWO("float_truediv", of_reals<divide_reals>),
    TWO("int_truediv", of_reals<divide_reals>),
    TWO("pow", power),
    TWO("pow_by_natural", power),
    TWO("float_pow", of_reals<power_of_reals>),
    ONE("neg", neg),
    ONE("floor", floored),
    ONE("ceil", ceiled),
    ONE("trunc", floored),
    ONE("clone", whole),
    ONE("sym_float", as_real),
    // Questions.
    TWO("eq", compared<Comparison::eq>),
    TWO("ne", compared<Comparison::ne>),
    TWO("lt", compared<Comparison::lt>),
    TWO("le", compared<Comparison::le>),
    TWO("gt", compared<Comparison::gt>),
    TWO("ge", compared<Comparison::ge>),
    TWO("sym_and", joined<Truth::Kind::both>),
    TWO("sym_or", joined<Truth::Kind::either>),
    TWO("and_", joined<Truth::Kind::both>),
    TWO("or_", joined<Truth::Kind::either>),
    ONE("sym_not", opposite),
    ONE("not_", opposite),
    ANY("sym_ite", chosen),
    // Constants beside it.
    TWO("wrap_int", wrap_int),
    TWO("wrap_float", wrap_real),
    TWO("wrap_bool", wrap_truth),
    // What it is.
    ONE("is_int", is_kind<SizeNode::Kind::integer>),
    ONE("is_bool", is_kind<SizeNode::Kind::truth>),
    ONE("is_float", is_kind<SizeNode::Kind::real>),
    ONE("is_nested_int", no),
    ONE("is_symbolic", yes),
    ONE("is_constant", no),
    ONE("has_hint", yes),
    ONE("nested_int", nothing),
    ONE("maybe_as_int", constant_int),
    ONE("maybe_as_float", nothing),
    ONE("maybe_as_bool", nothing),
    ONE("str", shown),
    ONE("_graph_repr", shown),
    // Answers.
    ONE("int_", fixed_int),
    ONE("bool_", asked),
    ANY("guard_int", fixed_int),
    ANY("guard_float", fixed_real),
    ANY("guard_bool", asked),
    ANY("guard_size_oblivious", asked),
    ANY("guard_or_false", asked),
    ANY("guard_or_true", asked),
    ANY("expect_true", asked),
    ANY("expect_size", asked),
    ANY("statically_known_true", surely),
    {nullptr, nullptr, 0, nullptr},
};
#undef ONE
#undef TWO
#undef ANY

PyTypeObject* node_type() {
  static constinit Once<PyTypeObject*> kept;
  return kept.get([] {
    static PyType_Slot slots[] = {{Py_tp_methods, kMethods},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(free_node)},
                                  {Py_tp_repr, reinterpret_cast<void*>(represent)},
                                  {0, nullptr}};
    static PyType_Spec spec = {"vitrine._engine.SizeNode", sizeof(SizeNode), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  });
}

bool is_a(PyObject* value, Name name) {
  PyObject* type = torch_api::kept(name);
  return type && reinterpret_cast<PyObject*>(Py_TYPE(value)) == type;
}

}  // namespace

PyObject* sym_int(const Sym& value) {
  if (!value.symbolic()) return PyLong_FromLongLong(value.hint());
  const PyRef node = PyRef::steal(make_integer(value));
  return node ? PyObject_CallOneArg(torch_api::kept(Name::SymInt), node.get()) : nullptr;
}

PyObject* sym_tuple(std::span<const Sym> values) {
  PyRef out = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; out && i < values.size(); ++i) {
    PyObject* item = sym_int(values[i]);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), item);
  }
  return out.release();
}

std::optional<Sym> sym_of(PyObject* value) {
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow ? std::nullopt : std::optional<Sym>(number);
  }
  if (!is_a(value, Name::SymInt)) return std::nullopt;
  const PyRef node = PyRef::steal(PyObject_GetAttrString(value, "node"));
  const SizeNode* of = node ? node_of(node.get()) : nullptr;
  PyErr_Clear();
  return of && of->kind == SizeNode::Kind::integer ? std::optional<Sym>(of->integer) : std::nullopt;
}

std::optional<double> fixed_real_of(PyObject* value) {
  if (!is_a(value, Name::SymFloat)) return std::nullopt;
  const PyRef node = PyRef::steal(PyObject_GetAttrString(value, "node"));
  const SizeNode* of = node ? node_of(node.get()) : nullptr;
  PyErr_Clear();
  return of && of->kind == SizeNode::Kind::real ? std::optional<double>(of->real) : std::nullopt;
}

bool is_symbolic_number(PyObject* value) {
  return is_a(value, Name::SymInt) || is_a(value, Name::SymBool) || is_a(value, Name::SymFloat);
}

}  // namespace vitrine::torch_api
