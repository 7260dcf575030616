// torch.func: vmap (vmap.cpp), and what differentiates a function. The function is interpreted once, with the
// arguments as they are: that guards all it reads, and shows that it changes nothing. Then PyTorch's own
// transform runs it as one call of the recording, which sees the operators that it comes down to.
#include <algorithm>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/differentiation.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

static Value* differentiate(Tracer& t, const std::string& name, const char* runner, Value* function,
                            Value* arguments, Value* keywords, const Values& options);

namespace {

using T = Tracer;
using A = Arguments;

// Autograd around the call would go through what PyTorch has differentiated here.
void check_not_followed(T& t, Value* result, const std::string& name) {
  if (result->is(ValueKind::Tensor) && torch_api::requires_grad(result->obj))
    stop("unsupported_builtin", "the result of " + name + " requires a gradient");
  for (Value* item : result->items_if_any()) check_not_followed(t, item, name);
  if (result->is(ValueKind::Dict))
    for (auto [key, value] : dict_entries(t, result)) check_not_followed(t, value, name);
}

// grad_impl(func, argnums, has_aux, args, kwargs)
Value* grad(T& t, const A& a, const char* name, const char* runner) {
  constexpr size_t kArguments = 5;
  if (a.positional.size() != kArguments || !a.keyword.empty())
    stop("unsupported_builtin", std::string("a call of ") + name + " of another kind");
  const Values& p = a.positional;
  return differentiate(t, name, runner, p[0], p[3], p[4], {p[1], p[2]});
}

// jvp(func, primals, tangents, *, strict, has_aux)
Value* jvp(T& t, const A& a) {
  Value *no = t.boolean(false), *primals = need(t, a, 1, "primals");
  return differentiate(t, "torch.func.jvp", "run_jvp", need(t, a, 0, "func"), primals, new_dict(t),
                       {need(t, a, 2, "tangents"), need(t, a, a.positional.size(), "strict", no),
                        need(t, a, a.positional.size(), "has_aux", no)});
}

// _vjp_with_argnums(func, *primals, argnums, has_aux). The function that it gives differentiates when it is
// called, in the segment.
Value* vjp(T& t, const A& a) {
  for (const auto& [key, value] : a.keyword)
    if (key != "argnums" && key != "has_aux") stop("unsupported_builtin", "torch.func.vjp with " + key);
  Value *argnums = a.find("argnums"), *aux = a.find("has_aux");
  if (a.positional.empty() || (argnums && !is_none(t, argnums)) || (aux && truth(t, aux)))
    stop("unsupported_builtin", "torch.func.vjp of another kind");
  Arguments primals;
  primals.positional.assign(a.positional.begin() + 1, a.positional.end());
  Value* made = run_once_without_effects(t, a.positional[0], primals, "what torch.func.vjp differentiates");
  check_not_followed(t, made, "torch.func.vjp");
  Value* pull = t.pinned(find_object("vitrine._polyfills.transforms.pull"));
  return t.tuple({made, call(t, pull, {{a.positional[0], t.tuple(primals.positional)}, {}})});
}

// vitrine._polyfills.transforms.jacobian(reverse, func, argnums, has_aux, args)
Value* jacobian(T& t, const A& a) {
  const Values& p = a.positional;
  const bool reverse = truth(t, p[0]);
  return differentiate(t, reverse ? "torch.func.jacrev" : "torch.func.jacfwd", "run_jacobian", p[1], p[4],
                       new_dict(t), {p[0], p[2], p[3]});
}

// The transforms that give a function, which calls jacobian() above.
template <const char* const& Name>
Value* jacobian_of(T& t, const A& a) {
  for (const auto& [key, value] : a.keyword)
    if (key != "argnums" && key != "has_aux" && key != "func")
      stop("unsupported_builtin", "torch.func." + (Name + (" with " + key)));
  return call(t, t.pinned(find_object(std::string("vitrine._polyfills.transforms.") + Name)), a);
}
constexpr const char* kReverse = "jacrev";
constexpr const char* kForward = "jacfwd";

constexpr BuiltinRow kRows[] = {
    {"torch._functorch.vmap.vmap_impl", [](T& t, const A& a) { return vmap(t, a); }},
    {"torch._functorch.eager_transforms.grad_impl",
     [](T& t, const A& a) { return grad(t, a, "torch.func.grad", "run_grad"); }},
    {"torch._functorch.eager_transforms.grad_and_value_impl",
     [](T& t, const A& a) { return grad(t, a, "torch.func.grad_and_value", "run_grad_and_value"); }},
    {"torch._functorch.eager_transforms.jvp", jvp},
    {"torch._functorch.eager_transforms.jacrev", jacobian_of<kReverse>},
    {"torch._functorch.eager_transforms.jacfwd", jacobian_of<kForward>},
    {"vitrine._polyfills.transforms.jacobian", jacobian},
    {"torch._functorch.eager_transforms._vjp_with_argnums", vjp},
    {"vitrine._polyfills.transforms.pulled_back",
     [](T& t, const A& a) {
       if (!truth(t, need(t, a, 3))) stop("unsupported_builtin", "torch.func.vjp's function with options");
       return differentiate(t, "torch.func.vjp", "run_vjp", need(t, a, 0), need(t, a, 1), new_dict(t),
                            {need(t, a, 2)});
     }},
};

}  // namespace

std::span<const BuiltinRow> transform_builtins() {
  return kRows;
}

void check_not_differentiated(Tracer& t, const char* question) {
  if (t.pure.differentiated)
    stop("unsupported_builtin",
         std::string("a function that torch.func differentiates asks for ") + question);
}

// name: of the transform, for people. runner(parts of the function, arguments, keywords, *options) is a
// function of vitrine._polyfills.transforms.
Value* differentiate(Tracer& t, const std::string& name, const char* runner, Value* function,
                     Value* arguments, Value* keywords, const Values& options) {
  struct Reading {
    bool &now, before = now;
    explicit Reading(bool& flag) : now(flag) { now = true; }
    ~Reading() { now = before; }
  };
  {
    const Reading reading(t.pure.differentiated);
    run_once_without_effects(t, function, spread(t, arguments, keywords), "what " + name + " differentiates");
  }
  Arguments all;
  all.positional = {function_in_parts(t, function), arguments, keywords};
  all.positional.insert(all.positional.end(), options.begin(), options.end());
  Value* result =
      torch_call(t, name, find_object(std::string("vitrine._polyfills.transforms.") + runner), all);
  check_not_followed(t, result, name);
  return result;
}

}  // namespace vitrine::capture
