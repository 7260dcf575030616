// Floats that sizes give: x.shape[0] ** 0.5, 1 / len(x), math.log(n). Such a one is a symbolic float
// (floats.cpp) that knows how Python computes it: each call computes it from its own sizes before the graph
// runs, which has it for an input where a tensor meets it. Where it is rounded to an int again, and the
// quotient is one of whole numbers, the int is a symbol: floor(n / d) is n // d, for n / d lies at least 1 /
// d below the next whole number, and rounding moves it by less while n < 2^52. Any other int that comes of
// sizes (n & ~7, math.isqrt(n) too) is a symbol of its own, which Python is asked for at each new size.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/python.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

constexpr int64_t kMostExact = int64_t{1} << 52;
constexpr int kMostBits = 20;  // of a factor's denominator

bool is_size_float(const Value* v) {
  return v->kind == Kind::Float && !v->items.empty();
}

bool is_plain_number(const Value* v) {
  const bool may_be = v->kind == Kind::Constant || (v->kind == Kind::Lazy && v->source);
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
    if (overflow != 0 || std::abs(n) >= kMostExact) return {};
    return Quotient{ir::Sym(n)};
  }
  double value = PyFloat_AS_DOUBLE(o);
  int64_t denominator = 1;
  for (int bits = 0; value != std::floor(value); ++bits) {
    if (bits == kMostBits || !std::isfinite(value)) return {};
    value *= 2;
    denominator *= 2;
  }
  if (std::abs(value) >= static_cast<double>(kMostExact)) return {};
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
  if (v->kind == Kind::Symbol) return Quotient{v->sym};
  if (v->kind == Kind::Constant) return of_constant(v->obj);
  if (!is_size_float(v)) return {};
  const PyObject* function = v->items[0]->obj;
  if (function == reinterpret_cast<PyObject*>(&PyFloat_Type)) return quotient_of(v->items[1]);
  for (const char* name : kCombining) {
    if (function != torch_names().operator_function(name) || v->items.size() != 3) continue;
    const auto a = quotient_of(v->items[1]), b = quotient_of(v->items[2]);
    return a && b ? combined(name, *a, *b) : std::nullopt;
  }
  return {};
}

}  // namespace

// function: has no side effect, and gives the same for the same numbers. nullptr: no argument is a size or
// comes of one, or the result is no float.
Value* Tracer::size_float(PyObject* function, const Values& arguments) {
  if (pure_since_ >= 0 || options_.as_if) return nullptr;
  Values given;
  bool any = false;
  for (Value* a : arguments) {
    Value* open = symbolic(a);
    given.push_back(open ? open : resolve(a));
    const bool of_sizes = open || is_size_float(given.back());
    if (!of_sizes && !is_plain_number(given.back())) return nullptr;
    any = any || of_sizes;
  }
  if (!any) return nullptr;
  Owned numbers(PyTuple_New(static_cast<Py_ssize_t>(given.size())));
  for (size_t i = 0; i < given.size(); ++i)
    PyTuple_SET_ITEM(numbers.get(), static_cast<Py_ssize_t>(i), Py_NewRef(given[i]->obj));
  Owned now(PyObject_CallObject(function, numbers.get()));
  if (!now || !PyFloat_CheckExact(now.get())) return PyErr_Clear(), nullptr;
  for (Value*& each : given) {
    if (each->kind == Kind::Symbol || is_size_float(each)) continue;
    if (symbolic_float(each)) return nullptr;  // of another kind: a learning rate
    each = look(each);
  }
  Value* v = make(Kind::Float);
  v->obj = keep(now.release());
  v->cls = &PyFloat_Type;
  v->items = {pinned(function)};
  v->items.insert(v->items.end(), given.begin(), given.end());
  v->roots = {v};
  return v;
}

// A float of sizes and a number, or another such: asked again at other sizes. nullptr: neither is one.
Value* Tracer::size_float_compare(int op, Value* a, Value* b) {
  Values sides = {resolve(a), resolve(b)};
  if (pure_since_ >= 0 || std::none_of(sides.begin(), sides.end(), is_size_float)) return nullptr;
  for (Value*& each : sides) {
    Value* open = symbolic(each);
    if (!open && !is_size_float(each) && (!is_plain_number(each) || symbolic_float(each))) return nullptr;
    each = open ? open : is_size_float(each) ? each : look(each);
  }
  constexpr const char* kNames[] = {"lt", "le", "eq", "ne", "gt", "ge"};
  Owned parts(PyTuple_Pack(3, torch_names().operator_function(kNames[op]), size_float_parts(sides[0]).get(),
                           size_float_parts(sides[1]).get()));
  const Owned args(parts ? PyTuple_Pack(1, parts.get()) : nullptr);
  if (!args) raise_python();
  return fact(find_object("vitrine._sizes.compared"), args.get());
}

// A size that meets a symbolic float, as Python converts it. nullptr: it is none.
Value* Tracer::float_of_size(Value* size) {
  Value* v = symbolic(size) ? size_float(reinterpret_cast<PyObject*>(&PyFloat_Type), {size}) : nullptr;
  return v ? symbolic_float(v) : nullptr;
}

// int(n * 0.5), math.floor(n / 3): nullptr where it is none of these.
Value* Tracer::size_integer(const std::string& function, Value* number) {
  static const std::unordered_set<std::string> rounding = {"int", "trunc", "floor", "ceil", "round"};
  number = resolve(number);
  if (pure_since_ >= 0 || !rounding.contains(function) || !is_size_float(number)) return nullptr;
  Value* known = function == "round" ? nullptr : quotient_integer(function, number);
  return known ? known : asked_integer(function, number);
}

// nullptr: it is no quotient of whole numbers.
Value* Tracer::quotient_integer(const std::string& function, Value* number) {
  const bool truncates = function == "int" || function == "trunc";
  const ir::SymPlace place(symbolic_->table, asked_at());
  try {
    const std::optional<Quotient> q = quotient_of(number);
    if (!q) return nullptr;
    const ir::Sym &n = q->numerator, most(kMostExact), least(-kMostExact);
    if (std::abs(n.hint()) >= kMostExact || (truncates && n.hint() < 0)) return nullptr;
    if (!(n <= most) || !(truncates ? n >= ir::Sym(0) : n >= least)) return nullptr;
    const ir::Sym d(q->denominator);
    return symbol_value(function == "ceil" ? -floordiv(-n, d) : floordiv(n, d));
  } catch (const InternalError&) {  // it leaves 64 bits
    return nullptr;
  }
}

// How vitrine._sizes.rounded computes it: a number, or a tuple of a function and what it is given.
Owned Tracer::size_float_parts(Value* v) {
  if (!is_size_float(v)) return Owned(to_python(v));
  Owned parts(PyTuple_New(static_cast<Py_ssize_t>(v->items.size())));
  PyTuple_SET_ITEM(parts.get(), 0, Py_NewRef(v->items[0]->obj));
  for (size_t i = 1; i < v->items.size(); ++i)
    PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i), size_float_parts(v->items[i]).release());
  return parts;
}

Value* Tracer::asked_integer(const std::string& function, Value* number) {
  const Owned args(Py_BuildValue("(sN)", function.c_str(), size_float_parts(number).release()));
  if (!args) raise_python();
  return asked_symbol(find_object("vitrine._sizes.rounded"), args.get(),
                      function + "(" + size_float_text(number) + ")");
}

// A question, as one for a size of what was computed.
Value* Tracer::asked_symbol(PyObject* function, PyObject* args, const std::string& text) {
  const Owned answer(PyObject_Call(function, args, nullptr));
  int overflow = 0;
  const bool is_int = answer && PyLong_CheckExact(answer.get());
  const int64_t n = is_int ? PyLong_AsLongLongAndOverflow(answer.get(), &overflow) : 0;
  if (!is_int || overflow != 0) return PyErr_Clear(), nullptr;  // or it raises, or goes beyond 64 bits
  if (n < 2) return fact(function, args);
  lowering_->note_question(function, args);
  const auto symbol = static_cast<int32_t>(symbolic_->table.symbols().size());
  const ir::Sym sym = symbolic_->table.size(text, n);
  symbolic_->origins.push_back({"computed from other sizes at " + asked_at()});
  symbolic_->questions.push_back({symbol, nullptr});
  return symbol_value(sym);
}

// n & ~7, math.isqrt(n): an int that has no form as a symbol of its own. nullptr: no argument is a size,
// another is no plain int, or the result is no int.
Value* Tracer::integer_of_sizes(PyObject* function, const Values& arguments) {
  if (pure_since_ >= 0 || options_.as_if) return nullptr;
  Value* of = make(Kind::Float);  // never seen by the program: for its text
  of->items = {pinned(function)};
  bool any = false;
  for (Value* a : arguments) {
    Value* open = symbolic(a);
    Value* given = open ? open : resolve(a);
    if (!open && (!is_plain_number(given) || !PyLong_CheckExact(given->obj))) return nullptr;
    any = any || open;
    of->items.push_back(open ? open : look(given));
  }
  if (!any) return nullptr;
  Owned args(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
  for (size_t i = 0; i < arguments.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), to_python(of->items[i + 1]));
  return asked_symbol(function, args.get(), size_float_text(of));
}

// The tensor that stands for it in the graph. false: the graph takes none.
bool Tracer::enter_size_float(Value* v) {
  Owned real(torch_api::number_tensor(PyFloat_AS_DOUBLE(v->obj)));
  if (!real) raise_python();
  const std::string name = describe(v);
  auto entered = lowering_->input(real.get(), ir::NodeKind::placeholder, name);
  if (!entered) return false;
  inputs_.push_back(
      sources_->make(SourceKind::Computed, nullptr, static_cast<int32_t>(computed_.size()), name, Py_None));
  computed_.push_back(v);
  v->tensor = from_python(keep(entered.take()));
  return true;
}

// The sizes it comes of are what they are now.
void Tracer::fix_size_float(Value* v) {
  for (Value* each : v->items)
    if (each->kind == Kind::Symbol || is_size_float(each)) look(each);
}

// "s0 ** 0.5", "1 / (s0 + 1)", "math.sqrt(s0)"
std::string Tracer::size_float_text(Value* v) {
  constexpr std::pair<const char*, const char*> kSigns[] = {
      {"mul", " * "},  {"truediv", " / "}, {"add", " + "}, {"sub", " - "},     {"pow", " ** "},
      {"and_", " & "}, {"or_", " | "},     {"xor", " ^ "}, {"lshift", " << "}, {"rshift", " >> "}};
  const auto part = [&](Value* each) {
    const std::string text = describe(each);
    return text.find(' ') == text.npos ? text : "(" + text + ")";
  };
  for (const auto& [name, sign] : kSigns)
    if (v->items[0]->obj == torch_names().operator_function(name) && v->items.size() == 3)
      return part(v->items[1]) + sign + part(v->items[2]);
  std::string text = describe(v->items[0]) + "(";
  for (size_t i = 1; i < v->items.size(); ++i) text += (i > 1 ? ", " : "") + describe(v->items[i]);
  return text + ")";
}

}  // namespace vitrine::capture
