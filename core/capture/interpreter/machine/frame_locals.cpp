// What a program asks of its own frame: locals(), and vars() without an argument.
#include <algorithm>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/machine/bound_slots.h"
#include "core/capture/interpreter/machine/frame_locals.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"

namespace vitrine::capture {
namespace {

bool asks_for_locals(const VirtualFrame& f, const Instruction& in) {
  if (in.op != Op::LoadGlobal) return false;
  const std::string name = text_of(f.bytecode->name(in.arg));
  return name == "locals" || name == "vars" || name == "eval" || name == "exec" || name == "dir";
}

// Before 3.13 CPython keeps one dict a frame, which every call of locals() and of what works on it brings up
// to date: with a second call, in this segment or another, what the first gave would change.
bool may_ask_again(const VirtualFrame& f, const Frame& live) {
  if (!live.shares_locals()) return false;
  if (f.gave_locals) return true;
  if (f.caller) return false;  // it begins and ends in this segment
  if (live.has_locals_dict()) return true;
  const auto& all = f.bytecode->instructions();
  const auto asked =
      std::count_if(all.begin(), all.end(), [&](const Instruction& in) { return asks_for_locals(f, in); });
  return asked != 1 || std::any_of(all.begin(), all.end(), [](const Instruction& in) { return in.backward; });
}

}  // namespace

Value* locals_of_frame(Tracer& t) {
  VirtualFrame& f = t.frame();
  if (may_ask_again(f, t.frames.live))
    stop("unsupported_builtin", "locals() may be called again in the same frame");
  f.gave_locals = true;
  t.frames.end_before_locals();
  Value* dict = new_dict(t);
  for (size_t i = 0; i < f.locals.size(); ++i) {
    guard_bound(t, f, static_cast<int>(i));
    Value* v = f.locals[i] ? resolve(f.locals[i]) : nullptr;
    if (v && (v->is(ValueKind::Cell) || (v->is(ValueKind::Lazy) && PyCell_Check(v->obj)))) v = cell_get(t, v);
    if (v) dict_set(t, dict, t.text(text_of(f.bytecode->local_name(static_cast<int>(i)))), v);
  }
  dict->mutated = false;
  return dict;
}

}  // namespace vitrine::capture
