// Weak references that the program makes. What one gives is known where something holds its target for sure:
// a frame that runs, or what existed before.
#include <unordered_set>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/lifetimes.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/value_questions.h"

namespace vitrine::capture {
namespace {

constexpr size_t kMostLookedAt = 10'000;

// What a value holds strongly. Less than all of it is no error.
void add_held(const Value* v, Values& to) {
  if (is_weak_reference(v) || is_kept_as(v, "Identity")) return;
  to.insert(to.end(), v->items_if_any().begin(), v->items_if_any().end());
  for (const auto& [name, value] : v->attrs) to.push_back(value);
  if (v->kind() == ValueKind::Dict)
    for (const auto& [key, value] : v->dict().entries) to.insert(to.end(), {key, key ? value : nullptr});
}

bool is_held_by_a_frame(Tracer& t, Value* target) {
  Values open;
  for (const VirtualFrame* f = &t.frame(); f; f = f->caller)
    for (const Values* held : {&f->locals, &f->stack}) open.insert(open.end(), held->begin(), held->end());
  std::unordered_set<const Value*> seen;
  while (!open.empty() && seen.size() < kMostLookedAt) {
    Value* v = open.back();
    open.pop_back();
    v = v ? resolve(v) : nullptr;
    if (v == target) return true;
    if (v && seen.insert(v).second) add_held(v, open);
  }
  return false;
}

}  // namespace

bool is_weak_reference(const Value* v) {
  return v->is(ValueKind::Object) && !v->obj && v->cls == &_PyWeakref_RefType;
}

Value* weak_reference(Tracer& t, Value* target) {
  target = t.look(target);
  const bool known = (target->is(ValueKind::Object) && !is_kept_as(target, "Compiled") &&
                      array_kind(t, target) == ArrayKind::None) ||
                     target->is(ValueKind::Tensor) || target->is(ValueKind::Function);
  if (!known || type_of(t, target)->tp_weaklistoffset == 0)
    stop("unsupported_value", "a weak reference to " + describe(t, target));
  Value* reference = t.make(ValueKind::Object);
  reference->cls = &_PyWeakref_RefType;
  reference->items() = {target};
  return reference;
}

Value* target_of(Tracer& t, const Value* reference) {
  Value* target = resolve(reference->items()[0]);
  const bool before = target->source && held_elsewhere(t, target->source);
  if (!before && !is_held_by_a_frame(t, target))
    stop("unsupported_value", "a weak reference to what may be gone is asked for it",
         "Hold the object in a local variable.");
  return target;
}

}  // namespace vitrine::capture
