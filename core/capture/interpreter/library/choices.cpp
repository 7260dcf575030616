// torch.cond. A tensor's value is not known at capture: where nothing is differentiated and the branches
// change nothing, both are computed, and each result is chosen from the two.
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

constexpr const char* kHint =
    "Compute both ways and choose with torch.where; call it without gradients; or make the predicate a bool.";

Value* chosen_tensor(Tracer& t, Value* predicate, Value* a, Value* b) {
  if (torch_api::type_of(a->obj) != torch_api::type_of(b->obj))
    stop("data_dependent_branch",
         "the branches of torch.cond give a " + describe(t, a) + " and a " + describe(t, b));
  for (const Value* each : {a, b})
    if (torch_api::requires_grad(each->obj))
      stop("data_dependent_branch", "torch.cond between results that are differentiated", kHint);
  return torch_call(t, "torch.where", find_object("torch.where"), {{predicate, a, b}, {}});
}

// a and b: what the two branches gave, trees of tensors of one form.
Value* chosen(Tracer& t, Value* predicate, Value* a, Value* b) {
  a = t.look(a);
  b = t.look(b);
  if (a->is(ValueKind::Tensor) && b->is(ValueKind::Tensor)) return chosen_tensor(t, predicate, a, b);
  const bool sequences = a->kind() == b->kind() && a->cls == b->cls &&
                         a->items_if_any().size() == b->items_if_any().size() &&
                         (a->cls == &PyTuple_Type || a->cls == &PyList_Type) && !a->obj && !b->obj;
  if (!sequences)
    stop("data_dependent_branch",
         "the branches of torch.cond give a " + describe(t, a) + " and a " + describe(t, b), kHint);
  Values items;
  for (size_t i = 0; i < a->items_if_any().size(); ++i)
    items.push_back(chosen(t, predicate, a->items_if_any()[i], b->items_if_any()[i]));
  return t.sequence(a->kind(), std::move(items));
}

Value* cond(Tracer& t, const Arguments& a) {
  Value* predicate = t.look(need(t, a, 0, "pred"));
  Value *if_true = need(t, a, 1, "true_fn"), *if_false = need(t, a, 2, "false_fn");
  const Arguments operands = spread(t, need(t, a, 3, "operands", t.tuple({})), nullptr);
  if (predicate->is(ValueKind::Constant)) return call(t, truth(t, predicate) ? if_true : if_false, operands);
  if (!predicate->is(ValueKind::Tensor))
    stop("data_dependent_branch", "torch.cond by a " + describe(t, predicate));
  if (torch_api::type_of(predicate->obj).numel() != 1)
    stop("exception", "torch.cond by a tensor of more or less than one element");
  for (Value* operand : operands.positional)
    if (!t.look(operand)->is(ValueKind::Tensor))
      stop("data_dependent_branch", "torch.cond with a " + describe(t, operand) + " as operand", kHint);
  Value* one = tensor_method(t, predicate, "reshape", nullptr, {{t.tuple({})}, {}});
  one = tensor_method(t, one, "bool", nullptr, {});
  const std::string what = "a branch of torch.cond";
  Value* first = run_once_without_effects(t, if_true, operands, what);
  Value* second = run_once_without_effects(t, if_false, operands, what);
  return chosen(t, one, first, second);
}

constexpr BuiltinRow kRows[] = {
    {"torch.cond", cond},
};

}  // namespace

std::span<const BuiltinRow> choice_builtins() {
  return kRows;
}

}  // namespace vitrine::capture
