// Floats that sizes give: x.shape[0] ** 0.5, 1 / len(x), math.log(n). Such a one is a symbolic float
// (floats.cpp) that knows how Python computes it: each call computes it from its own sizes before the graph
// runs, which has it for an input where a tensor meets it. Where it is rounded to an int again, and the
// quotient is one of whole numbers, the int is a symbol: floor(n / d) is n // d, for n / d lies at least 1 /
// d below the next whole number, and rounding moves it by less while n < 2^52. Any other int that comes of
// sizes (n & ~7, math.isqrt(n) too) is a symbol of its own, which Python is asked for at each new size.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/python.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

static Value* quotient_integer(Tracer& t, const std::string& function, Value* number);
static PyRef size_float_parts(Tracer& t, Value* v);
static Value* asked_integer(Tracer& t, const std::string& function, Value* number);
static Value* asked_symbol(Tracer& t, PyObject* function, PyObject* args, const std::string& text);

namespace {

constexpr int64_t kMostHalved = int64_t{1} << 52;
constexpr int kMostBits = 20;  // of a factor's denominator

bool is_size_float(const Value* v) {
  return v->is(ValueKind::Float) && !v->items().empty();
}

bool is_plain_number(const Value* v) {
  const bool may_be = v->is(ValueKind::Constant) || (v->is(ValueKind::Lazy) && v->source);
  return may_be && v->obj && (PyFloat_CheckExact(v->obj) || PyLong_CheckExact(v->obj));
}

// numerator / denominator is what the float is before its last rounding; `exact`: there is none.
struct Quotient {
  ir::Sym numerator;
  int64_t denominator = 1;
  bool exact = true;
};

std::optional<Quotient> of_constant(PyObject* o) {
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const int64_t n = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow != 0 || std::abs(n) >= kMostHalved) return {};
    return Quotient{ir::Sym(n)};
  }
  double value = PyFloat_AS_DOUBLE(o);
  int64_t denominator = 1;
  for (int bits = 0; value != std::floor(value); ++bits) {
    if (bits == kMostBits || !std::isfinite(value)) return {};
    value *= 2;
    denominator *= 2;
  }
  if (std::abs(value) >= static_cast<double>(kMostHalved)) return {};
  return Quotient{ir::Sym(static_cast<int64_t>(value)), denominator};
}

std::optional<Quotient> combined(const std::string& name, const Quotient& a, const Quotient& b) {
  if (!a.exact || !b.exact) return {};
  if (name == "mul") return Quotient{a.numerator * b.numerator, a.denominator * b.denominator};
  if (name == "truediv" && !b.numerator.symbolic() && b.numerator.hint() > 0) {
    const int64_t below = b.numerator.hint();
    const bool power_of_two = (below & (below - 1)) == 0;
    return Quotient{a.numerator * ir::Sym(b.denominator), a.denominator * below, power_of_two};
  }
  if (name != "add" && name != "sub") return {};
  const ir::Sym x = a.numerator * ir::Sym(b.denominator), y = b.numerator * ir::Sym(a.denominator);
  return Quotient{name == "add" ? x + y : x - y, a.denominator * b.denominator};
}

const char* const kCombining[] = {"mul", "truediv", "add", "sub"};

std::optional<Quotient> quotient_of(const Value* v) {
  if (v->is(ValueKind::Symbol)) return Quotient{v->as<SymbolValue>().sym};
  if (v->is(ValueKind::Constant)) return of_constant(v->obj);
  if (!is_size_float(v)) return {};
  const PyObject* function = v->items()[0]->obj;
  if (function == reinterpret_cast<PyObject*>(&PyFloat_Type)) return quotient_of(v->items()[1]);
  for (const char* name : kCombining) {
    if (function != torch_names().operator_function(name) || v->items().size() != 3) continue;
    const auto a = quotient_of(v->items()[1]), b = quotient_of(v->items()[2]);
    return a && b ? combined(name, *a, *b) : std::nullopt;
  }
  return {};
}

}  // namespace

// function: has no side effect, and gives the same for the same numbers. nullptr: no argument is a size or
// comes of one, or the result is no float.
Value* size_float(Tracer& t, PyObject* function, const Values& arguments) {
  if (t.pure.since >= 0 || t.options.as_if) return nullptr;
  Values given;
  bool any = false;
  for (Value* a : arguments) {
    Value* open = symbolic(t, a);
    given.push_back(open ? open : resolve(a));
    const bool of_sizes = open || is_size_float(given.back());
    if (!of_sizes && !is_plain_number(given.back())) return nullptr;
    any = any || of_sizes;
  }
  if (!any) return nullptr;
  PyRef numbers(PyTuple_New(static_cast<Py_ssize_t>(given.size())));
  for (size_t i = 0; i < given.size(); ++i)
    PyTuple_SET_ITEM(numbers.get(), static_cast<Py_ssize_t>(i), Py_NewRef(given[i]->obj));
  PyRef now(PyObject_CallObject(function, numbers.get()));
  if (!now || !PyFloat_CheckExact(now.get())) return PyErr_Clear(), nullptr;
  for (Value*& each : given) {
    if (each->is(ValueKind::Symbol) || is_size_float(each)) continue;
    if (symbolic_float(t, each)) return nullptr;  // of another kind: a learning rate
    each = t.look(each);
  }
  Value* v = t.make(ValueKind::Float);
  v->obj = t.keep(now.release());
  v->cls = &PyFloat_Type;
  v->items() = {t.pinned(function)};
  v->items().insert(v->items().end(), given.begin(), given.end());
  v->as<FloatValue>().roots = {v};
  return v;
}

// A float of sizes and a number, or another such: asked again at other sizes. nullptr: neither is one.
Value* size_float_compare(Tracer& t, int op, Value* a, Value* b) {
  Values sides = {resolve(a), resolve(b)};
  if (t.pure.since >= 0 || std::none_of(sides.begin(), sides.end(), is_size_float)) return nullptr;
  for (Value*& each : sides) {
    Value* open = symbolic(t, each);
    if (!open && !is_size_float(each) && (!is_plain_number(each) || symbolic_float(t, each))) return nullptr;
    each = open ? open : is_size_float(each) ? each : t.look(each);
  }
  constexpr const char* kNames[] = {"lt", "le", "eq", "ne", "gt", "ge"};
  PyRef parts(PyTuple_Pack(3, torch_names().operator_function(kNames[op]),
                           size_float_parts(t, sides[0]).get(), size_float_parts(t, sides[1]).get()));
  const PyRef args(parts ? PyTuple_Pack(1, parts.get()) : nullptr);
  if (!args) t.raise_python();
  return fact(t, find_object("vitrine._sizes.compared"), args.get());
}

// A size that meets a symbolic float, as Python converts it. nullptr: it is none.
Value* float_of_size(Tracer& t, Value* size) {
  Value* v = symbolic(t, size) ? size_float(t, reinterpret_cast<PyObject*>(&PyFloat_Type), {size}) : nullptr;
  return v ? symbolic_float(t, v) : nullptr;
}

// int(n * 0.5), math.floor(n / 3): nullptr where it is none of these.
Value* size_integer(Tracer& t, const std::string& function, Value* number) {
  static const std::unordered_set<std::string> rounding = {"int", "trunc", "floor", "ceil", "round"};
  number = resolve(number);
  if (t.pure.since >= 0 || !rounding.contains(function) || !is_size_float(number)) return nullptr;
  Value* known = function == "round" ? nullptr : quotient_integer(t, function, number);
  return known ? known : asked_integer(t, function, number);
}

// nullptr: it is no quotient of whole numbers.
Value* quotient_integer(Tracer& t, const std::string& function, Value* number) {
  const bool truncates = function == "int" || function == "trunc";
  const ir::SymPlace place(t.sizes.symbolic->table, asked_at(t));
  try {
    const std::optional<Quotient> q = quotient_of(number);
    if (!q) return nullptr;
    const ir::Sym &n = q->numerator, most(kMostHalved), least(-kMostHalved);
    if (std::abs(n.hint()) >= kMostHalved || (truncates && n.hint() < 0)) return nullptr;
    if (!(n <= most) || !(truncates ? n >= ir::Sym(0) : n >= least)) return nullptr;
    const ir::Sym d(q->denominator);
    return symbol_value(t, function == "ceil" ? -floordiv(-n, d) : floordiv(n, d));
  } catch (const InternalError&) {  // it leaves 64 bits
    return nullptr;
  }
}

// How vitrine._sizes.rounded computes it: a number, or a tuple of a function and what it is given.
PyRef size_float_parts(Tracer& t, Value* v) {
  if (!is_size_float(v)) return PyRef(to_python(t, v));
  PyRef parts(PyTuple_New(static_cast<Py_ssize_t>(v->items().size())));
  PyTuple_SET_ITEM(parts.get(), 0, Py_NewRef(v->items()[0]->obj));
  for (size_t i = 1; i < v->items().size(); ++i)
    PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i), size_float_parts(t, v->items()[i]).release());
  return parts;
}

Value* asked_integer(Tracer& t, const std::string& function, Value* number) {
  const PyRef args(Py_BuildValue("(sN)", function.c_str(), size_float_parts(t, number).release()));
  if (!args) t.raise_python();
  return asked_symbol(t, find_object("vitrine._sizes.rounded"), args.get(),
                      function + "(" + size_float_text(t, number) + ")");
}

// A question, as one for a size of what was computed.
Value* asked_symbol(Tracer& t, PyObject* function, PyObject* args, const std::string& text) {
  const PyRef answer(PyObject_Call(function, args, nullptr));
  int overflow = 0;
  const bool is_int = answer && PyLong_CheckExact(answer.get());
  const int64_t n = is_int ? PyLong_AsLongLongAndOverflow(answer.get(), &overflow) : 0;
  if (!is_int || overflow != 0) return PyErr_Clear(), nullptr;  // or it raises, or goes beyond 64 bits
  if (n < 2) return fact(t, function, args);
  t.lowering().note_question(function, args);
  return symbol_of_question(t, text, n, std::numeric_limits<int64_t>::min());
}

// n & ~7, math.isqrt(n): an int that has no form as a symbol of its own. nullptr: no argument is a size,
// another is no plain int, or the result is no int.
Value* integer_of_sizes(Tracer& t, PyObject* function, const Values& arguments) {
  if (t.pure.since >= 0 || t.options.as_if) return nullptr;
  Value* of = t.make(ValueKind::Float);  // never seen by the program: for its text
  of->items() = {t.pinned(function)};
  bool any = false;
  for (Value* a : arguments) {
    Value* open = symbolic(t, a);
    Value* given = open ? open : resolve(a);
    if (!open && (!is_plain_number(given) || !PyLong_CheckExact(given->obj))) return nullptr;
    any = any || open;
    of->items().push_back(open ? open : t.look(given));
  }
  if (!any) return nullptr;
  PyRef args(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
  for (size_t i = 0; i < arguments.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), to_python(t, of->items()[i + 1]));
  return asked_symbol(t, function, args.get(), size_float_text(t, of));
}

// The tensor that stands for it in the graph. false: the graph takes none.
bool enter_size_float(Tracer& t, Value* v) {
  PyRef real(torch_api::number_tensor(PyFloat_AS_DOUBLE(v->obj)));
  if (!real) t.raise_python();
  const std::string name = describe(t, v);
  auto entered = t.lowering().input(real.get(), ir::NodeKind::placeholder, name);
  if (!entered) return false;
  t.graph.inputs.push_back(t.sources().make(SourceKind::Computed, nullptr,
                                            static_cast<int32_t>(t.sizes.computed.size()), name, Py_None));
  t.sizes.computed.push_back(v);
  v->as<FloatValue>().tensor = from_python(t, t.keep(entered.take()));
  return true;
}

// The sizes it comes of are what they are now.
void fix_size_float(Tracer& t, Value* v) {
  for (Value* each : v->items())
    if (each->is(ValueKind::Symbol) || is_size_float(each)) t.look(each);
}

// "s0 ** 0.5", "1 / (s0 + 1)", "math.sqrt(s0)"
std::string size_float_text(Tracer& t, Value* v) {
  constexpr std::pair<const char*, const char*> kSigns[] = {
      {"mul", " * "},  {"truediv", " / "}, {"add", " + "}, {"sub", " - "},     {"pow", " ** "},
      {"and_", " & "}, {"or_", " | "},     {"xor", " ^ "}, {"lshift", " << "}, {"rshift", " >> "}};
  const auto part = [&](Value* each) {
    const std::string text = describe(t, each);
    return text.find(' ') == text.npos ? text : "(" + text + ")";
  };
  for (const auto& [name, sign] : kSigns)
    if (v->items()[0]->obj == torch_names().operator_function(name) && v->items().size() == 3)
      return part(v->items()[1]) + sign + part(v->items()[2]);
  std::string text = describe(t, v->items()[0]) + "(";
  for (size_t i = 1; i < v->items().size(); ++i) text += (i > 1 ? ", " : "") + describe(t, v->items()[i]);
  return text + ")";
}

}  // namespace vitrine::capture
