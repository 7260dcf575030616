// What a training step does beside tensor arithmetic: gradients as attributes of leaves, operators on lists
// of tensors, and what PyTorch's optimizers ask of the process.
#include "core/capture/interpreter/library/optimizers.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

using T = Tracer;
using A = Arguments;

// A named range of the profiler. One that is not there has nothing to note.
Value* profiled_range(T& t, const A&) {
  PyRef on(PyObject_CallNoArgs(find_object("torch.autograd._profiler_enabled")));
  if (!on) t.raise_python();
  if (on.get() == Py_True) stop("side_effect", "a range of the running profiler begins");
  return construct(t, reinterpret_cast<PyTypeObject*>(find_object("contextlib.nullcontext")), {});
}

// The step count of an optimizer as a number of the program: eager reads it, here it stays in the graph, with
// a Python float's precision.
Value* step_count(T& t, const A& a) {
  Value* v = t.look(need(t, a, 0, "x"));
  return v->is(ValueKind::Tensor) ? tensor_method(t, v, "double", nullptr, {}) : v;
}

// The same as a list, where eager has a list of numbers.
Value* as_given(T& t, const A& a) {
  return need(t, a, 0, "x");
}

// Lists of tensors by the device and type of those in the first list. PyTorch does not say in which order
// several groups come.
Value* grouped(T& t, const A& a) {
  const Values lists = unpack(t, need(t, a, 0, "tensorlistlist"));
  const bool with_indices = a.positional.size() > 1 && truth(t, a.positional[1]);
  Values copies, indices;
  Value *key = nullptr, *out = new_dict(t);
  for (Value* list : lists) copies.push_back(t.list(unpack(t, list)));
  if (lists.empty() || unpack(t, lists[0]).empty()) stop("exception", "no tensors are grouped");
  for (Value* v : unpack(t, lists[0])) {
    Value* tensor = t.look(v);
    if (!tensor->is(ValueKind::Tensor)) stop("exception", "a group is made of something that is no tensor");
    Value* own = t.tuple({tensor_attr(t, tensor, "device"), tensor_attr(t, tensor, "dtype")});
    if (key && !equal(t, key, own))
      stop("unsupported_builtin", "tensors of several devices or types are grouped");
    key = own;
    if (with_indices) indices.push_back(t.integer(static_cast<int64_t>(indices.size())));
  }
  dict_set(t, out, key, t.tuple({t.list(std::move(copies)), t.list(std::move(indices))}));
  return out;
}

// zero_grad(): gradients that are there go, and those that are not are not asked for.
Value* zero_grad(T& t, const A& a, const char* name, const char* polyfill) {
  Value* to_none = a.positional.size() > 1 ? a.positional[1] : a.find("set_to_none");
  if (to_none && !truth(t, to_none)) return call_function(t, t.look(t.pinned(find_unwrapped(name))), a);
  return call(t, t.pinned(find_object(polyfill)), {{need(t, a, 0, "self")}, {}});
}

Value* clear_grad(T& t, const A& a) {
  Value* v = t.look(need(t, a, 0, "p"));
  const bool known =
      std::any_of(v->attrs.begin(), v->attrs.end(), [](const auto& attr) { return attr.first == "grad"; });
  const bool is_leaf = v->is(ValueKind::Tensor) && v->source && real_of(v) &&
                       torch_api::is_plain_tensor(real_of(v)) && torch_api::is_leaf(real_of(v));
  if (known || !is_leaf)
    return call_function(t, t.look(t.pinned(find_object("vitrine._polyfills.optimizers.clear_grad"))), a);
  write_grad(t, v, t.none());
  return t.none();
}

bool lies_alike(const Value* grad, const Value* p) {
  if (!grad->is(ValueKind::Tensor)) return false;
  const ir::TensorType a = torch_api::type_of(grad->obj), b = torch_api::type_of(real_of(p));
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides;
}

// What the steps of an optimizer's groups are about to make of parameters that have a gradient by now is made
// for real: then the first step is the same program as the others. Not where the program has looked at what
// is there: it is to see that there is nothing.
void prepare_first_step(T& t, Value* optimizer, PyObject* init_group) {
  Values& known = t.effects.first_steps;
  if (std::find(known.begin(), known.end(), optimizer) != known.end()) return;
  known.push_back(optimizer);
  if (!optimizer->obj || !optimizer->source || t.for_absent_gpu()) return;
  if (t.guards.ask_about(optimizer->source, "state")) return;
  for (Value* one : unpack(t, load_attr(t, optimizer, "param_groups"))) {
    Value* group = t.look(one);
    if (!group->obj || !group->source) return;
    const PyRef params(PyList_New(0));
    bool alike = true;
    for (Value* each : unpack(t, get_item(t, group, t.text("params")))) {
      Value* p = t.look(each);
      if (!p->is(ValueKind::Tensor) || !p->source || !real_of(p)) return;
      Value* grad = t.look(read_grad(t, p));
      if (is_none(t, grad)) continue;
      alike = alike && lies_alike(grad, p);
      PyList_Append(params.get(), real_of(p));
    }
    PyRef made(PyObject_CallFunctionObjArgs(find_object("vitrine._polyfills.optimizers.prepare"), init_group,
                                            optimizer->obj, group->obj, params.get(),
                                            alike ? Py_True : Py_False, nullptr));
    PyErr_Clear();
    if (made && made.get() != Py_None) t.effects.prepared.add(std::move(made));
  }
}

Value* init_group(T& t, const A& a, const char* name) {
  PyObject* function = find_unwrapped(name);
  prepare_first_step(t, t.look(need(t, a, 0, "self")), function);
  return call_function(t, t.look(t.pinned(function)), a);
}

// A flag among the keywords of an optimizer's own function.
bool has_flag(T& t, const A& a, const char* name) {
  Value* flag = a.find(name);
  return flag && truth(t, flag);
}

// A step that asks for numbers of tensors, as Vitrine writes it: of plain parameters on the CPU. There each
// number has eager's precision.
Value* step_of(T& t, const A& a, const char* name, const char* polyfill) {
  bool plain = !a.positional.empty();
  for (const char* flag : {"capturable", "differentiable", "has_complex"})
    plain = plain && !has_flag(t, a, flag);
  for (Value* each : plain ? unpack(t, a.positional[0]) : Values{}) {
    const Value* param = t.look(each);
    if (!param->is(ValueKind::Tensor)) return call_function(t, t.look(t.pinned(find_unwrapped(name))), a);
    const ir::TensorType type = torch_api::type_of(param->obj);
    plain = plain && type.device.is_cpu() && (type.dtype == ir::DType::f32 || type.dtype == ir::DType::f64);
  }
  PyObject* function = plain ? find_object(polyfill) : find_unwrapped(name);
  return plain ? call(t, t.pinned(function), a) : call_function(t, t.look(t.pinned(function)), a);
}

bool is_list(Value* v) {
  return v->is(ValueKind::List) || v->is(ValueKind::Tuple);
}

// What a tensor's own method for `name` is called. The larger or smaller of equals has half of the gradient,
// which clamp_min and clamp_max give whole.
std::string method_for(T& t, const std::string& name, A& one) {
  static const std::pair<std::string_view, std::string_view> kOtherNames[] = {{"maximum", "clamp_min"},
                                                                              {"minimum", "clamp_max"},
                                                                              {"maximum_", "clamp_min_"},
                                                                              {"minimum_", "clamp_max_"}};
  auto differentiates = [](const Value* v) {
    return v->is(ValueKind::Tensor) && torch_api::requires_grad(v->obj);
  };
  for (const auto& [own, of_tensor] : kOtherNames) {
    if (name != own) continue;
    for (Value*& v : one.positional)
      if (!symbolic_float(t, v)) v = t.look(v);
    if (std::none_of(one.positional.begin(), one.positional.end(), differentiates))
      return std::string(of_tensor);
    if (!one.positional.back()->is(ValueKind::Tensor) || name.ends_with("_"))
      stop("unsupported_operator", "torch._foreach_" + name + " that is differentiated");
  }
  return name;
}

// Norms of a GPU's tensors, which nothing differentiates: PyTorch has a few launches for all of them, where
// ours would be one or two each.
bool is_one_call(T& t, const std::string& name, const Values& tensors) {
  return name == "norm" && tensors.size() > 1 && std::all_of(tensors.begin(), tensors.end(), [&](Value* v) {
           const Value* tensor = t.look(v);
           return tensor->is(ValueKind::Tensor) && torch_api::type_of(tensor->obj).device.is_cuda() &&
                  !(grad_mode(t) && torch_api::requires_grad(tensor->obj));
         });
}

// torch._foreach_<name>: the operator on each tensor of the list, in order.
Value* for_each(T& t, const A& a, const std::string& name) {
  Values given;
  size_t n = 0;
  for (Value* v : a.positional) {
    Value* open = symbolic_float(t, v);
    given.push_back(open ? open : t.look(v));
    if (!is_list(given.back())) continue;
    const size_t length = unpack(t, given.back()).size();
    if (n && length != n) stop("exception", "torch._foreach_" + name + " of lists of different lengths");
    n = length;
  }
  if (!given.empty() && is_list(given[0]) && is_one_call(t, name, unpack(t, given[0])))
    return torch_call(t, "torch._foreach_norm", find_object("torch._foreach_norm"), a);
  // Their last operand is a keyword of the operator on one tensor.
  const bool scaled = name.starts_with("addcdiv") || name.starts_with("addcmul");
  Values results;
  for (size_t i = 0; i < n; ++i) {
    A one;
    for (size_t k = 0; k < given.size(); ++k) {
      Value* v = is_list(given[k]) ? unpack(t, given[k])[i] : given[k];
      if (scaled && k == 3)
        one.keyword.emplace_back("value", given[k]->is(ValueKind::Tensor)
                                              ? get_item(t, v, t.integer(static_cast<int64_t>(i)))
                                              : v);
      else
        one.positional.push_back(v);
    }
    for (const auto& [key, value] : a.keyword) one.keyword.emplace_back(key, value);
    if (name == "norm") {
      results.push_back(
          torch_call(t, "torch.linalg.vector_norm", find_object("torch.linalg.vector_norm"), one));
      continue;
    }
    if (name == "pow" && !is_list(given[0])) {
      results.push_back(torch_call(t, "torch.pow", find_object("torch.pow"), one));
      continue;
    }
    Value* self = t.look(one.positional.at(0));
    if (!self->is(ValueKind::Tensor))
      stop("exception", "torch._foreach_" + name + " of something that is no tensor");
    const std::string method = method_for(t, name, one);
    one.positional.erase(one.positional.begin());
    results.push_back(tensor_method(t, self, method, nullptr, std::move(one)));
  }
  return name.ends_with("_") ? a.positional.at(0) : t.tuple(std::move(results));
}

// clang-format off
#define VITRINE_FOREACH(X) \
  X(add) X(add_) X(sub) X(sub_) X(mul) X(mul_) X(div) X(div_) X(pow) X(pow_) X(maximum) X(maximum_) \
  X(minimum) X(minimum_) X(clamp_min) X(clamp_min_) X(clamp_max) X(clamp_max_) X(neg) X(neg_) X(abs) \
  X(abs_) X(sqrt) X(sqrt_) X(rsqrt) X(rsqrt_) X(reciprocal) X(reciprocal_) X(sign) X(sign_) X(exp) X(exp_) \
  X(addcdiv) X(addcdiv_) X(addcmul) X(addcmul_) X(lerp) X(lerp_) X(zero_) X(copy_) X(norm)

// Optimizers that make their state in the first step.
#define VITRINE_LAZY_STATE(X) \
  X("torch.optim.adam.Adam._init_group")         X("torch.optim.nadam.NAdam._init_group")       \
  X("torch.optim.sgd.SGD._init_group")           X("torch.optim.adamax.Adamax._init_group")     \
  X("torch.optim.rmsprop.RMSprop._init_group")   X("torch.optim.radam.RAdam._init_group")       \
  X("torch.optim.adadelta.Adadelta._init_group") X("torch.optim.rprop.Rprop._init_group")       \
  X("torch.optim._muon.Muon._init_group")        X("torch.optim.asgd.ASGD._init_group")         \
  X("torch.optim._adafactor.Adafactor._init_group")

#define VITRINE_STEPS(X)                                     \
  X("torch.optim.radam._single_tensor_radam", "radam")       \
  X("torch.optim.asgd._single_tensor_asgd", "asgd")          \
  X("torch.optim._adafactor._single_tensor_adafactor", "adafactor")
// clang-format on

constexpr BuiltinRow kRows[] = {
#define X(name) {"torch._foreach_" #name, [](T& t, const A& a) { return for_each(t, a, #name); }},
    VITRINE_FOREACH(X)
#undef X
        {"torch.autograd.profiler.record_function", profiled_range},
    {"torch.optim.Optimizer.zero_grad",
     [](T& t, const A& a) {
       return zero_grad(t, a, "torch.optim.Optimizer.zero_grad", "vitrine._polyfills.optimizers.zero_grad");
     }},
    {"torch.nn.Module.zero_grad",
     [](T& t, const A& a) {
       return zero_grad(t, a, "torch.nn.Module.zero_grad",
                        "vitrine._polyfills.optimizers.zero_grad_of_module");
     }},
    {"vitrine._polyfills.optimizers.clear_grad", clear_grad},
#define X(name) {name, [](T& t, const A& a) { return init_group(t, a, name); }},
    VITRINE_LAZY_STATE(X)
#undef X
#define X(name, own) \
  {name, [](T& t, const A& a) { return step_of(t, a, name, "vitrine._polyfills.optimizer_steps." own); }},
        VITRINE_STEPS(X)
#undef X
            {"torch._C._group_tensors_by_device_and_dtype", grouped},
    {"torch.optim.optimizer._get_value", step_count},
    {"torch.optim.optimizer._stack_if_compiling", as_given},
};

}  // namespace

std::span<const BuiltinRow> optimizer_builtins() {
  return kRows;
}

// .grad of a leaf that entered the graph: what was assigned here, or what it holds when the segment begins.
Value* read_grad(Tracer& t, Value* v) {
  for (const auto& [name, value] : v->attrs)
    if (name == "grad") return value;
  if (!real_of(v) || !v->source) {
    if (!torch_api::is_leaf(v->obj))
      stop("unsupported_operator", "the gradient of a tensor made here is read");
    return t.none();
  }
  if (!torch_api::is_leaf(real_of(v)))
    stop("unsupported_operator", "the gradient of a tensor that is no leaf is read");
  PyRef grad(PyObject_GetAttrString(real_of(v), "grad"));
  if (!grad) t.raise_python();
  return t.lazy(grad.get(), t.sources().make(SourceKind::Attr, v->source, -1, "grad"));
}

// Assigning a gradient has no effect on the graph; PyTorch's setter refuses what does not fit.
void write_grad(Tracer& t, Value* v, Value* value) {
  value = t.look(value);
  if (!is_none(t, value)) {
    if (!value->is(ValueKind::Tensor)) stop("exception", "a gradient is set to a " + describe(t, value));
    const ir::TensorType grad = torch_api::type_of(value->obj), own = torch_api::type_of(v->obj);
    if (grad.dtype != own.dtype || grad.sizes != own.sizes || value == v)
      stop("exception", "a gradient is set that does not fit");
  }
  const bool first =
      std::none_of(v->attrs.begin(), v->attrs.end(), [](auto& a) { return a.first == "grad"; });
  if (first && is_none(t, value) && t.lowering().is_empty()) v->as<TensorValue>().freed_first = true;
  write_attr(t, v, "grad", value);
}

// f(..., value=tensor): eager reads the number. addcdiv: self + value * tensor1 / tensor2, in this order.
Value* scaled_by_tensor(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  const bool in_place = name.ends_with("_");
  const std::string plain = in_place ? name.substr(0, name.size() - 1) : name;
  const bool fused = plain == "addcdiv" || plain == "addcmul";
  if (!fused && plain != "add" && plain != "sub") return nullptr;
  Value* factor = a.find(fused ? "value" : "alpha");
  if (!factor || !t.look(factor)->is(ValueKind::Tensor)) return nullptr;
  if (a.positional.size() != (fused ? 2U : 1U) || a.keyword.size() != 1)
    stop("scalar_read", "Tensor." + name + " reads a number from a tensor");
  Value* term = binary(t, "mul", factor, a.positional[0]);
  if (fused) term = binary(t, plain == "addcdiv" ? "truediv" : "mul", term, a.positional[1]);
  return tensor_method(t, self, fused ? (in_place ? "add_" : "add") : name, nullptr, {{term}, {}});
}

}  // namespace vitrine::capture
