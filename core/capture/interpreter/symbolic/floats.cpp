// Floats that may be others in the next call (a learning rate): a float that had another value at an earlier
// compilation of its place becomes an input of the graph, a 0-d tensor of f64, which computes as Python's
// floats do. Only what is written here keeps one open; everything else looks at it, which fixes it.
#include <bit>

#include "core/capture/interpreter/library/rng.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/derived_floats.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/read_floats.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
#include "core/capture/interpreter/symbolic/speculated_branches.h"
#include "core/capture/interpreter/symbolic/symbolic_numbers.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

// Up to here an int is exact as a float.
constexpr int64_t kMostExact = int64_t{1} << 53;

}  // namespace

bool is_exact_number(PyObject* o) {
  if (!o) return false;
  if (PyFloat_CheckExact(o)) return true;
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  const int64_t n = PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0 && n > -kMostExact && n < kMostExact;
}

bool is_single(const ir::TensorType& type) {
  return type.dtype == ir::DType::f32 && type.sizes.empty();
}

bool takes_number(const ir::TensorType& type) {
  return type.dtype == ir::DType::f64 ||
         (type.dtype == ir::DType::f32 && !(is_single(type) && type.device.is_cuda()));
}

namespace {

// The tensor that stands for a symbolic float beside one of this type.
Value* beside(Tracer& t, Value* open, const ir::TensorType& type) {
  return is_single(type) ? tensor_method(t, open->as<FloatValue>().tensor, "float", nullptr, {})
                         : open->as<FloatValue>().tensor;
}

}  // namespace

Value* symbolic_float(Tracer& t, Value* v) {
  v = resolve(v);
  if (t.pure.since >= 0 && v->source) {  // PyTorch will read this number itself
    if (v->is(ValueKind::Float)) t.look(v);
    return nullptr;
  }
  if (v->is(ValueKind::Float))
    return v->as<FloatValue>().tensor ||
                   (v->items().empty() ? enter_derived_float(t, v) : enter_size_float(t, v))
               ? v
               : nullptr;
  if (!v->is(ValueKind::Lazy) || !v->obj || !v->source || v->pinned || !PyFloat_CheckExact(v->obj))
    return nullptr;
  if (!t.options.sizes || t.options.dynamic == DynamicMode::Never || t.options.as_if) return nullptr;
  if (!t.options.floats_vary) return nullptr;
  const double now = PyFloat_AS_DOUBLE(v->obj);
  if (!t.options.sizes->note(v->source->path() + " float", {std::bit_cast<int64_t>(now)}).at(0).changed)
    return nullptr;
  PyRef real(torch_api::number_tensor(now));
  if (!real) t.raise_python();
  auto entered = t.lowering().input(real.get(), ir::NodeKind::placeholder, v->source->path());
  if (!entered) return nullptr;
  guard_type(t, v);
  t.graph.inputs.push_back(v->source);
  become(v, ValueKind::Float);
  v->cls = &PyFloat_Type;
  v->as<FloatValue>().tensor = from_python(t, t.keep(entered.take()));
  v->as<FloatValue>().roots = {v};
  return v;
}

// It is from now on what it is at this call.
void specialise_float(Tracer& t, Value* v) {
  const Values roots = v->as<FloatValue>().roots;  // they may be itself, which becomes another kind
  for (const Value* root : roots) refuse_to_look(t, root);
  for (Value* root : roots) {
    if (!root->is(ValueKind::Float) && root != v) continue;
    if (root->items().empty())
      t.guard(GuardKind::ConstEquals, root->source, root->obj, 0, "", nullptr, "== " + repr_of(root->obj));
    else
      fix_size_float(t, root);
    become(root, ValueKind::Constant);
    root->identified = true;
  }
  become(v, ValueKind::Constant);
  v->identified = true;
}

// A float computed from open ones. now: new reference, what it is at this call. parts: of its Value.
Value* computed_float(Tracer& t, PyObject* now, Value* tensor, const Values& from, PyObject* parts) {
  Value* v = t.make(ValueKind::Float);
  v->obj = t.keep(now);
  v->cls = &PyFloat_Type;
  v->as<FloatValue>().tensor = tensor;
  v->as<FloatValue>().parts = parts;
  for (Value* f : from)
    v->as<FloatValue>().roots.insert(v->as<FloatValue>().roots.end(), f->as<FloatValue>().roots.begin(),
                                     f->as<FloatValue>().roots.end());
  return v;
}

// A symbolic float that is not zero stays so.
static bool is_not_zero(Tracer& t, Value* v) {
  if (v->items_if_any().size() == 2 && v->items_if_any()[1]->is(ValueKind::Symbol))  // float(n)
    return v->items_if_any()[0]->obj == reinterpret_cast<PyObject*>(&PyFloat_Type) &&
           truth(t, compare(t, Py_NE, v->items_if_any()[1], t.integer(0)));
  if (PyFloat_AS_DOUBLE(v->obj) == 0.0) return false;
  if (is_read(t, v)) return speculate(t, t.look(v->as<FloatValue>().tensor), true);
  Value* answer = float_compare(t, Py_NE, v, t.constant(t.keep(PyFloat_FromDouble(0.0))));
  return answer && truth(t, answer);
}

// nullptr: neither is a symbolic float, or the result would not be what Python gives.
Value* float_binary(Tracer& t, const std::string& name, bool in_place, Value* a, Value* b) {
  Value *x = symbolic_float(t, a), *y = symbolic_float(t, b);
  if (!x && !y) return nullptr;
  if (!x) x = float_of_size(t, a);
  if (!y) y = float_of_size(t, b);
  const bool arithmetic = name == "add" || name == "sub" || name == "mul" || name == "truediv";
  Value* other = x && y ? nullptr : t.look(x ? b : a);
  PyObject* function = torch_names().operator_function(in_place && !x ? "i" + name : name);
  if (other && other->is(ValueKind::Tensor)) {
    const ir::TensorType type = torch_api::type_of(other->obj);
    const bool power = name == "pow" && type.dtype == ir::DType::f64 && !in_place;
    if ((!arithmetic && !power) || !takes_number(type)) return nullptr;
    return torch_call(t, "operator." + (in_place && !x ? "i" + name : name), function,
                      {{x ? beside(t, x, type) : other, y ? beside(t, y, type) : other}, {}});
  }
  if (!arithmetic || (other && !is_exact_number(const_object(t, other)))) return nullptr;
  if (name == "truediv" && y && !is_not_zero(t, y)) return nullptr;  // by zero, Python raises
  PyObject *left = x ? x->obj : other->obj, *right = y ? y->obj : other->obj;
  PyRef now(PyObject_CallFunctionObjArgs(torch_names().operator_function(name), left, right, nullptr));
  if (!now || !PyFloat_CheckExact(now.get())) return PyErr_Clear(), nullptr;
  Value* tensor =
      torch_call(t, "operator." + name, torch_names().operator_function(name),
                 {{x ? x->as<FloatValue>().tensor : other, y ? y->as<FloatValue>().tensor : other}, {}});
  PyObject* parts = derived_parts(t, torch_names().operator_function(name), {x ? x : other, y ? y : other});
  return computed_float(t, now.release(), tensor, x && y ? Values{x, y} : Values{x ? x : y}, parts);
}

// x > f: nullptr where neither is a symbolic float, or the other one is no tensor beside which it may stand.
Value* float_beside_tensor(Tracer& t, const std::string& comparison, Value* a, Value* b) {
  Value *x = symbolic_float(t, a), *y = symbolic_float(t, b);
  if (!x == !y) return nullptr;
  Value* tensor = t.look(x ? b : a);
  if (!tensor->is(ValueKind::Tensor)) return nullptr;
  const ir::TensorType type = torch_api::type_of(tensor->obj);
  if (!takes_number(type)) return nullptr;
  Value* number = beside(t, x ? x : y, type);
  return torch_call(t, "operator." + comparison, torch_names().operator_function(comparison),
                    {{x ? number : tensor, x ? tensor : number}, {}});
}

Value* float_negated(Tracer& t, Value* a) {
  Value* x = symbolic_float(t, a);
  if (!x) return nullptr;
  PyObject* function = torch_names().operator_function("neg");
  Value* tensor = torch_call(t, "operator.neg", function, {{x->as<FloatValue>().tensor}, {}});
  return computed_float(t, PyFloat_FromDouble(-PyFloat_AS_DOUBLE(x->obj)), tensor, {x},
                        derived_parts(t, function, {x}));
}

// A method of a tensor that is given symbolic floats, as one that is given tensors. nullptr: it is given
// none, or the result would be another.
Value* with_symbolic_floats(Tracer& t, Value* self, const std::string& name, PyObject* callable,
                            const Arguments& a) {
  const std::string plain = name.ends_with("_") ? name.substr(0, name.size() - 1) : name;
  const bool fused = plain == "addcdiv" || plain == "addcmul";
  if (!fused && plain != "add" && plain != "sub" && plain != "mul" && plain != "div" && plain != "lerp")
    return nullptr;
  const ir::TensorType type = torch_api::type_of(self->obj);
  Arguments given = a;
  bool any = false, fine = takes_number(type);
  const auto replace = [&](Value*& v) {
    Value* open = symbolic_float(t, v);
    if (!open) {
      Value* tensor = has_tensor(t, v) ? t.look(v) : nullptr;
      if (!tensor || !tensor->is(ValueKind::Tensor)) return;
      const ir::TensorType other = torch_api::type_of(tensor->obj);
      fine = fine && takes_number(other) && other.dtype == type.dtype;
      return;
    }
    any = true;
    v = beside(t, open, type);
  };
  for (Value*& v : given.positional) replace(v);
  for (auto& [key, v] : given.keyword) replace(v);
  if (!any || !fine) return nullptr;
  if (plain == "lerp" && type.device.is_cuda()) return nullptr;  // wants its weight beside the others
  if (plain == "lerp" && type.dtype != ir::DType::f64)
    for (Value*& v : given.positional)
      if (t.look(v)->is(ValueKind::Tensor) && torch_api::type_of(t.look(v)->obj).sizes.empty())
        v = tensor_method(t, t.look(v), "float", nullptr, {});
  return tensor_method(t, self, name, callable, std::move(given));
}

}  // namespace vitrine::capture
