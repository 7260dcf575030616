#include "views/timeline/work.h"

#include <algorithm>
#include <map>

namespace vitrine::views {

namespace {

int facing(const Timeline& t, TimelineLane::Side side) {
  return side == TimelineLane::Side::Eager ? t.facing_eager : t.facing_compiled;
}

// Outermost ones: what a linked slice does inside is a part of it.
template <class Take>
void each_outermost(const TimelineLane& lane, bool unlinked_too, Take take) {
  int64_t until = -1;
  for (const Slice& s : lane.slices) {
    if ((!s.entity && !unlinked_too) || s.start < until) continue;
    until = std::max(until, s.end());
    take(s);
  }
}

// How often the threads of a side ran each operator or launch.
std::map<Id, int64_t> runs_of(const Timeline& t, TimelineLane::Side side) {
  std::map<Id, int64_t> out;
  for (const TimelineLane& lane : t.lanes)
    if (lane.side == side &&
        (lane.kind == TimelineLane::Kind::Thread || lane.kind == TimelineLane::Kind::Launch))
      each_outermost(lane, false, [&](const Slice& s) { ++out[s.entity]; });
  return out;
}

}  // namespace

bool on_gpu(const Timeline& t, TimelineLane::Side side) {
  const int lane = facing(t, side);
  return lane >= 0 && t.lanes[static_cast<size_t>(lane)].kind == TimelineLane::Kind::Stream;
}

std::vector<const Slice*> work_of(const Timeline& t, TimelineLane::Side side) {
  std::vector<const Slice*> out;
  if (facing(t, side) < 0) return out;
  const TimelineLane::Kind kind = t.lanes[static_cast<size_t>(facing(t, side))].kind;
  for (const TimelineLane& lane : t.lanes) {
    if (lane.side != side || lane.kind != kind) continue;
    if (kind != TimelineLane::Kind::Stream)
      each_outermost(lane, t.of_import, [&](const Slice& s) { out.push_back(&s); });
    else
      for (const Slice& s : lane.slices) out.push_back(&s);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Slice* a, const Slice* b) { return a->start < b->start; });
  return out;
}

// All runs of a thing have as many slices on the device. Where the threads do not tell how often it ran, what
// follows on itself is one run.
std::vector<bool> beginnings(const Timeline& t, TimelineLane::Side side,
                             const std::vector<const Slice*>& work) {
  std::vector<bool> out(work.size(), true);
  if (!on_gpu(t, side)) return out;
  const std::map<Id, int64_t> runs = runs_of(t, side);
  std::map<Id, int64_t> slices, met;
  for (const Slice* s : work) ++slices[s->entity];
  for (size_t i = 0; i < work.size(); ++i) {
    const Id id = work[i]->entity;
    if (!id) continue;
    const auto ran = runs.find(id);
    const bool told = ran != runs.end() && slices[id] % ran->second == 0;
    out[i] = told ? met[id]++ % (slices[id] / ran->second) == 0 : i == 0 || work[i - 1]->entity != id;
  }
  return out;
}

TimeUse time_use(const std::vector<const Slice*>& work, int64_t from, int64_t to) {
  TimeUse out;
  int64_t until = from;
  bool begun = false;
  auto gap = [&](int64_t at, double& into) {
    const auto ns = static_cast<double>(std::max<int64_t>(0, at - until));
    into += ns;
    out.longest_gap = std::max(out.longest_gap, ns);
  };
  for (const Slice* s : work) {
    const int64_t begin = std::max(s->start, from), end = std::min(s->end(), to);
    if (end <= begin) continue;
    if (begin > until) gap(begin, begun ? out.between : out.before);
    begun = true;
    const int64_t alone = std::max<int64_t>(0, end - std::max(begin, until));
    out.busy += static_cast<double>(alone);
    out.together += static_cast<double>(end - begin - alone);
    until = std::max(until, end);
  }
  if (to > until) gap(to, begun ? out.after : out.before);
  return out;
}

}  // namespace vitrine::views
