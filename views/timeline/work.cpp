#include "views/timeline/work.h"

#include <algorithm>

namespace vitrine::views {

namespace {

int facing(const Timeline& t, TimelineLane::Side side) {
  return side == TimelineLane::Side::Eager ? t.facing_eager : t.facing_compiled;
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
    int64_t until = -1;
    for (const Slice& s : lane.slices) {
      if (kind != TimelineLane::Kind::Stream && ((!s.entity && !t.of_import) || s.start < until)) continue;
      until = std::max(until, s.end());
      out.push_back(&s);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Slice* a, const Slice* b) { return a->start < b->start; });
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
