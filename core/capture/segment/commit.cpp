// The end of a segment's run: all that the frame and others will hold is made first, then it is handed over.
#include "core/capture/cpython/frame.h"
#include "core/capture/segment/recipe.h"
#include "core/capture/segment/segment.h"

namespace vitrine::capture {

// What a segment leaves behind, made but not yet handed over.
struct Segment::Made {
  PyRef result;
  std::vector<PyRef> locals, stack;
  std::vector<ReadyEffect> effects;
};

bool Segment::waits(const Recipe& recipe) const {
  return changes_containers_ && makes_iterator(recipe);
}

bool Segment::waits(const Effect& effect) const {
  return waits(effect.target) || waits(effect.key) || waits(effect.value);
}

// Makes what waits until the containers have changed, or all else.
bool Segment::make_values(Ingredients& from, Made& made, bool waiting) const {
  auto make_all = [&](const auto& recipes, std::vector<PyRef>& out, const auto& recipe_of) {
    out.resize(recipes.size());
    for (size_t i = 0; i < recipes.size(); ++i)
      if (waits(recipe_of(recipes[i])) == waiting && !make_value(recipe_of(recipes[i]), from, out[i]))
        return false;
    return true;
  };
  if (trace_->end == Trace::End::Return) {
    if (waits(trace_->result) == waiting && !make_value(trace_->result, from, made.result)) return false;
  } else if (!make_all(trace_->locals, made.locals, [](const auto& l) -> auto& { return l.second; }) ||
             !make_all(trace_->stack, made.stack, [](const Recipe& r) -> auto& { return r; })) {
    return false;
  }
  made.effects.resize(trace_->effects.size());
  for (size_t i = 0; i < made.effects.size(); ++i)
    if (waits(trace_->effects[i]) == waiting && !make_ready(trace_->effects[i], from, made.effects[i]))
      return false;
  return true;
}

bool Segment::apply_effects(const Frame& frame, Ingredients& from, const Made& made, bool waiting) const {
  for (const ReadyEffect& effect : made.effects)
    if (effect.effect && waits(*effect.effect) == waiting && !apply(effect, frame, from)) return false;
  return true;
}

SegmentOutcome Segment::commit(Frame& frame, Ingredients& from) {
  Made made;
  bool ok = make_values(from, made, false);
  if (!ok && !trace_->graph_effects.writes_inputs) {  // nothing has changed yet
    return failed();
  }
  ok = ok && apply_effects(frame, from, made, false);
  if (ok && changes_containers_) ok = make_values(from, made, true) && apply_effects(frame, from, made, true);
  if (!ok) return SegmentOutcome::raised();  // the user's object refused a change
  if (trace_->end == Trace::End::Return) return SegmentOutcome::returned(made.result.release());
  for (size_t i = 0; i < made.locals.size(); ++i)
    frame.set_local(trace_->locals[i].first, made.locals[i].release());
  frame.truncate(0);
  for (PyRef& value : made.stack) frame.push(value.release());
  frame.set_pc(trace_->end_pc);
  return SegmentOutcome::ran();
}

}  // namespace vitrine::capture
