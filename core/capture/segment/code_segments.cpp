#include "core/capture/segment/code_segments.h"

#include <algorithm>
#include <utility>

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

Place::~Place() {
  for (const std::shared_ptr<Segment>& s : segments) s->place = nullptr;
}

void Place::add(const std::shared_ptr<Segment>& segment) {
  segment->place = this;
  segments.insert(segments.begin(), segment);
}

// What served many calls was worth its compilation, and does not count for the limit. Where each call brings
// a class of its own, that limit is reached.
void Place::bury(Segment& segment) {
  constexpr int64_t kMany = 16;
  if (segment.compilation) ended[segment.settings] = {segment.compilation, segment.guards().ending()};
  if (segment.calls >= kMany)
    --code.compilations;
  else
    ++code.buried;
  take([&](const std::shared_ptr<Segment>& s) { return s.get() == &segment; });
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
  places_.push_back(std::make_unique<Place>(*this));
  places_.back()->pc = pc;
  places_.back()->depth = depth;
  return *places_.back();
}

void CodeSegments::forget(int32_t settings, std::vector<std::shared_ptr<Segment>>& dropped) {
  compilations -= std::exchange(buried, 0);
  for (const auto& p : places_) {
    for (auto& segment : p->take([&](const auto& s) { return s->settings == settings; })) {
      dropped.push_back(std::move(segment));
      --compilations;
    }
    p->eager = p->eager_rest = false;
    p->sizes.erase(settings);
    p->ended.erase(settings);
  }
}

}  // namespace vitrine::capture
