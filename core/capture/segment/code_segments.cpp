#include "core/capture/segment/code_segments.h"

#include <algorithm>
#include <iterator>

#include "core/capture/segment/engine.h"

namespace vitrine::capture {

int64_t Place::compilations(int32_t settings, const Frame& frame) const {
  return std::count_if(segments.begin(), segments.end(), [&](const std::shared_ptr<Segment>& s) {
    return s->settings == settings && s->owner.counts_for(frame);
  });
}

void Place::bring_forward(const Frame& frame) {
  const auto mine = [&](const std::shared_ptr<Segment>& s) { return s->owner.called_by(frame); };
  if (segments.size() > 1 && !std::is_partitioned(segments.begin(), segments.end(), mine))
    std::stable_partition(segments.begin(), segments.end(), mine);
}

CodeSegments::CodeSegments(Engine& engine) : engine_(engine) {
  engine_.codes.insert(this);
}

CodeSegments::~CodeSegments() {
  engine_.codes.erase(this);
}

Place& CodeSegments::place(int32_t pc, int32_t depth) {
  for (const auto& p : places_)
    if (p->pc == pc && p->depth == depth) return *p;
  places_.push_back(std::make_unique<Place>());
  places_.back()->pc = pc;
  places_.back()->depth = depth;
  return *places_.back();
}

void CodeSegments::forget(int32_t settings, std::vector<std::shared_ptr<Segment>>& dropped) {
  for (const auto& p : places_) {
    const auto mine = [&](const std::shared_ptr<Segment>& s) { return s->settings == settings; };
    std::copy_if(p->segments.begin(), p->segments.end(), std::back_inserter(dropped), mine);
    compilations -= std::erase_if(p->segments, mine);
    p->eager = p->eager_rest = false;
    p->sizes.erase(settings);
  }
}

}  // namespace vitrine::capture
