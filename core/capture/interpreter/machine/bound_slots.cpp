// Whether the slots of the frame hold values. A segment in the middle of a function may start with a local
// that one branch has bound and another has not: what the program does with it then is part of what was
// captured.
#include <unordered_set>

#include "core/capture/interpreter/machine/bound_slots.h"
#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

namespace {

bool starts_in_the_middle(const VirtualFrame& root, int pc) {
  return pc > root.bytecode->body_pc();
}

}  // namespace

// Locals are bound by the arguments alone where the function begins.
void guard_bound(Tracer& t, const VirtualFrame& frame, int slot) {
  const auto at = static_cast<size_t>(slot);
  if (&frame != &t.frames.root || !starts_in_the_middle(t.frames.root, t.frames.live.pc())) return;
  if (t.frames.root.locals[at] != t.frames.initial_locals[at]) return;
  const bool bound = t.frames.root.locals[at] != nullptr;
  t.guard(GuardKind::Bound, t.sources().local(slot, text_of(t.frames.root.bytecode->local_name(slot))),
          nullptr, bound, "", nullptr, bound ? "has a value" : "has no value");
}

// A comprehension of CPython 3.12 keeps the outer variable of its name on the stack, bound or not.
void guard_empty_stack(Tracer& t) {
  for (size_t i = 0; i < t.frames.initial_stack.size(); ++i)
    if (!t.frames.initial_stack[i])
      t.guard(GuardKind::Bound, t.sources().make(SourceKind::Stack, nullptr, static_cast<int32_t>(i), ""),
              nullptr, 0, "", nullptr, "has no value");
}

}  // namespace vitrine::capture
