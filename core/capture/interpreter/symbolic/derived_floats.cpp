// Floats that Python computes from a single one that changes: what is asked of them (min(1.0, t * 2)), and
// those that only a function of Python's own gives as the program has them (math.exp(-t), t ** 2). A guard,
// or an input of the graph, computes them anew at each call.
#include <algorithm>

#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/derived_floats.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/python.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

constexpr Py_ssize_t kMostSteps = 24;

Py_ssize_t steps_of(PyObject* part) {
  if (!PyTuple_Check(part)) return 0;
  Py_ssize_t n = 1;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(part) && n <= kMostSteps; ++i)
    n += steps_of(PyTuple_GET_ITEM(part, i));
  return n;
}

bool is_number(PyObject* o) {
  return o && (PyFloat_CheckExact(o) || PyLong_CheckExact(o));
}

// nullptr: it is none, or comes of several, or of none that the frame has.
Value* only_root(const Value* v) {
  if (!v->is(ValueKind::Float) || !v->items().empty() || v->as<FloatValue>().roots.empty()) return nullptr;
  for (const Value* root : v->as<FloatValue>().roots)
    if (root != v->as<FloatValue>().roots[0]) return nullptr;
  return v->as<FloatValue>().roots[0]->source ? v->as<FloatValue>().roots[0] : nullptr;
}

// "operator.mul(..., 2.0)" with the float's own name in its place.
std::string text_of_parts(PyObject* part, const std::string& base) {
  if (part == Py_Ellipsis) return base;
  if (!PyTuple_Check(part)) return repr_of(part);
  PyRef name(PyObject_GetAttrString(PyTuple_GET_ITEM(part, 0), "__name__"));
  if (!name) PyErr_Clear();
  std::string text = (name ? text_of(name.get()) : "?") + "(";
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(part); ++i)
    text += (i > 1 ? ", " : "") + text_of_parts(PyTuple_GET_ITEM(part, i), base);
  return text + ")";
}

}  // namespace

// How Python computes the result of a function of symbolic floats and numbers; kept by the tracer. nullptr:
// not from one float alone, or at great length.
PyObject* derived_parts(Tracer& t, PyObject* function, const Values& arguments) {
  const Value* root = nullptr;
  PyRef parts(PyTuple_New(static_cast<Py_ssize_t>(arguments.size()) + 1));
  PyTuple_SET_ITEM(parts.get(), 0, Py_NewRef(function));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Value* v = arguments[i];
    PyObject* part = v->is(ValueKind::Constant) && is_number(v->obj) ? v->obj : nullptr;
    if (v->is(ValueKind::Float)) {
      const Value* own = only_root(v);
      if (!own || (root && root != own)) return nullptr;
      root = own;
      part = v == own ? Py_Ellipsis : v->as<FloatValue>().parts;
    }
    if (!part) return nullptr;
    PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i) + 1, Py_NewRef(part));
  }
  return root && steps_of(parts.get()) <= kMostSteps ? t.keep(parts.release()) : nullptr;
}

const Source* derived_source(Tracer& t, Value* root, PyObject* parts) {
  if (parts == Py_Ellipsis) return root->source;
  return t.sources().make(SourceKind::Derived, root->source, -1, text_of_parts(parts, root->source->text()),
                          parts);
}

// What such a function gives, as Python computes it: a symbolic float like any other, and an input of the
// graph where a tensor meets it. nullptr: no argument is one that is open, or the result is no float.
Value* derived_float(Tracer& t, PyObject* function, const Values& arguments) {
  if (t.pure.since >= 0) return nullptr;
  Values given;
  for (Value* a : arguments) {
    Value* open = symbolic_float(t, a);
    given.push_back(open ? open : resolve(a));
    if (!open && !is_number(given.back()->obj)) return nullptr;
  }
  const auto is_open = [](const Value* v) { return v->is(ValueKind::Float); };
  if (std::none_of(given.begin(), given.end(), is_open)) return nullptr;
  for (Value*& each : given)
    if (!is_open(each)) each = t.look(each);
  PyObject* parts = derived_parts(t, function, given);
  if (!parts) return nullptr;
  PyRef numbers(PyTuple_New(static_cast<Py_ssize_t>(given.size())));
  for (size_t i = 0; i < given.size(); ++i)
    PyTuple_SET_ITEM(numbers.get(), static_cast<Py_ssize_t>(i), Py_NewRef(given[i]->obj));
  PyRef now(PyObject_CallObject(function, numbers.get()));
  if (!now || !PyFloat_CheckExact(now.get())) return PyErr_Clear(), nullptr;
  return computed_float(t, now.release(), nullptr, {*std::find_if(given.begin(), given.end(), is_open)},
                        parts);
}

// A float that a function of Python's own computes of sizes, or of one float.
Value* pythons_float(Tracer& t, PyObject* function, const Values& arguments) {
  Value* open = size_float(t, function, arguments);
  return open ? open : derived_float(t, function, arguments);
}

// The tensor that stands for it in the graph. false: the graph takes none.
bool enter_derived_float(Tracer& t, Value* v) {
  const Source* source = derived_source(t, v->as<FloatValue>().roots[0], v->as<FloatValue>().parts);
  PyRef real(torch_api::number_tensor(PyFloat_AS_DOUBLE(v->obj)));
  if (!real) t.raise_python();
  auto entered = t.lowering().input(real.get(), ir::NodeKind::placeholder, source->text());
  if (!entered) return false;
  t.graph.inputs.push_back(source);
  v->as<FloatValue>().tensor = from_python(t, t.keep(entered.take()));
  return true;
}

// Where a symbolic float is read, or computed, at each call. nullptr: it comes of several, or at great
// length.
static const Source* source_of_float(Tracer& t, const Value* v) {
  Value* root = only_root(v);
  PyObject* parts = v == root ? Py_Ellipsis : v->as<FloatValue>().parts;
  return root && parts ? derived_source(t, root, parts) : nullptr;
}

// A symbolic float and a number, or another one: the answer is kept as a guard. nullptr: something else is
// compared.
Value* float_compare(Tracer& t, int op, Value* a, Value* b) {
  if (Value* answer = size_float_compare(t, op, a, b)) return answer;
  Value *x = symbolic_float(t, a), *y = symbolic_float(t, b);
  if (!x && !y) return nullptr;
  if (!x) std::swap(a, b), std::swap(x, y), op = swapped_comparison(op);
  const Source *source = source_of_float(t, x), *other = y ? source_of_float(t, y) : nullptr;
  if (!source || (y && !other)) return nullptr;
  PyObject* number = y ? y->obj : const_object(t, t.look(b));
  if (!is_number(number)) return nullptr;
  const int yes = numbers_compare(x->obj, number, op);
  if (yes < 0) t.raise_python();
  const int with_answer = 2 * op + yes;
  t.guard(GuardKind::Compares, source, y ? nullptr : number, with_answer, "", other,
          comparison_text(with_answer) + " " + (y ? other->text() : repr_of(number)));
  return t.boolean(yes != 0);
}

}  // namespace vitrine::capture
