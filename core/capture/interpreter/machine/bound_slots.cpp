// Whether the slots of the frame hold values. A segment in the middle of a function may start with a local
// that one branch has bound and another has not: what the program does with it then is part of what was
// captured.
#include <unordered_set>

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

namespace {

bool starts_in_the_middle(const VirtualFrame& root, int pc) {
  return pc > root.bytecode->body_pc();
}

}  // namespace

// Locals are bound by the arguments alone where the function begins.
void Tracer::guard_bound(const VirtualFrame& frame, int slot) {
  const auto at = static_cast<size_t>(slot);
  if (&frame != &root_ || !starts_in_the_middle(root_, live_.pc())) return;
  if (root_.locals[at] != initial_locals_[at]) return;
  const bool bound = root_.locals[at] != nullptr;
  guard(GuardKind::Bound, sources_->local(slot, text_of(root_.bytecode->local_name(slot))), nullptr, bound,
        "", nullptr, bound ? "has a value" : "has no value");
}

// A comprehension of CPython 3.12 keeps the outer variable of its name on the stack, bound or not.
void Tracer::guard_empty_stack() {
  for (size_t i = 0; i < initial_stack_.size(); ++i)
    if (!initial_stack_[i])
      guard(GuardKind::Bound, sources_->make(SourceKind::Stack, nullptr, static_cast<int32_t>(i), ""),
            nullptr, 0, "", nullptr, "has no value");
}

// The guards, without those that say of a slot that it holds a value where another asks for that value.
std::vector<Guard> Tracer::take_guards() {
  std::unordered_set<const Source*> read;
  for (const Guard& g : guards_)
    if (g.kind != GuardKind::Bound) {
      for (const Source* s : {g.source, g.other})
        for (; s; s = s->base) read.insert(s);
      for (const Source* s : g.members)
        for (; s; s = s->base) read.insert(s);
    }
  std::erase_if(guards_, [&](const Guard& g) {
    return g.kind == GuardKind::Bound && g.number == 1 && read.contains(g.source);
  });
  return std::exchange(guards_, {});
}

}  // namespace vitrine::capture
