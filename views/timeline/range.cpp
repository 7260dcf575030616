#include "views/timeline/range.h"

#include <algorithm>

#include "core/session/launches.h"
#include "views/timeline/work.h"

namespace vitrine::views {

using namespace session;

namespace {

RangeSide side_of(const kit::SessionData& data, const Timeline& timeline, TimelineLane::Side which,
                  int64_t from, int64_t to) {
  RangeSide out;
  if ((which == TimelineLane::Side::Eager ? timeline.facing_eager : timeline.facing_compiled) < 0) return out;
  out.known = true;
  const std::vector<const Slice*> work = work_of(timeline, which);
  int64_t end = 0;
  for (const TimelineLane& lane : timeline.lanes)
    if (lane.side == which)
      for (const Slice& s : lane.slices) end = std::max(end, s.end());
  to = std::min(to, std::max(end, from));
  out.all_kept = which == TimelineLane::Side::Eager || !timeline.hides_calls(to);
  const TimeUse use = time_use(work, from, to);
  out.busy_ns = use.busy;
  out.longest_gap_ns = use.longest_gap;
  out.idle_ns = use.idle();
  const std::vector<bool> begins = beginnings(timeline, which, work);
  for (size_t i = 0; i < work.size(); ++i) {
    const Slice* s = work[i];
    if (!begins[i] || s->start < from || s->start >= to) continue;
    const LaunchRow* launch = data.launches.find(s->entity);
    if (!launch || launch->kind != "view") ++out.slices;  // as the launch plan counts them
    const KernelRow* kernel = launch ? data.kernels.find(launch->kernel) : nullptr;
    out.bytes += launch ? static_cast<double>(bytes_moved(*launch, kernel)) : 0;
    // What a GPU did is no rate of the thread that launched it.
    const bool timed = !kernel || on_gpu(timeline, which) || !data.isGpu(kernel->compilation);
    out.flops += kernel && timed ? static_cast<double>(kernel->flops) : 0;
    if (const NodeRow* node = data.nodes.find(s->entity)) out.flops += static_cast<double>(node->flops);
  }
  return out;
}

}  // namespace

RangeTotals totals_of(const kit::SessionData& data, const Timeline& timeline, const kit::TimeRange& range) {
  const bool all = range.from_ns == range.to_ns;
  const int64_t from = all ? 0 : range.from_ns, to = all ? timeline.end_ns : range.to_ns;
  return {static_cast<double>(to - from), side_of(data, timeline, TimelineLane::Side::Eager, from, to),
          side_of(data, timeline, TimelineLane::Side::Compiled, from, to)};
}

}  // namespace vitrine::views
