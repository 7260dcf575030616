#include "views/timeline/range.h"

#include <algorithm>

namespace vitrine::views {

using namespace session;

namespace {

RangeSide side_of(const kit::SessionData& data, const Timeline& timeline, int index, int64_t from,
                  int64_t to) {
  RangeSide out;
  if (index < 0) return out;
  out.known = true;
  const Lane& lane = timeline.lanes[static_cast<size_t>(index)];
  int64_t end = 0;
  for (const Slice& s : lane.slices) end = std::max(end, s.end());
  to = std::min(to, std::max(end, from));
  int64_t until = from;
  auto gap = [&](int64_t at) {
    out.longest_gap_ns = std::max(out.longest_gap_ns, static_cast<double>(at - until));
  };
  for (const Slice& s : lane.slices) {
    if (!s.entity || s.end() <= until || s.start >= to) continue;
    const int64_t begin = std::max(s.start, until), stop = std::min(s.end(), to);
    if (begin > until) gap(begin);
    out.busy_ns += static_cast<double>(std::max<int64_t>(0, stop - begin));
    until = stop;
    if (s.start < from) continue;
    const LaunchRow* launch = data.launches.find(s.entity);
    if (!launch || launch->kind != "view") ++out.slices;  // as the launch plan counts them
    const KernelRow* kernel = launch ? data.kernels.find(launch->kernel) : nullptr;
    out.bytes += launch ? static_cast<double>(launch->bytes) : 0;
    out.flops += kernel ? static_cast<double>(kernel->flops) : 0;
    if (const NodeRow* node = data.nodes.find(s.entity)) out.flops += static_cast<double>(node->flops);
  }
  if (until < to) gap(to);
  out.idle_ns = std::max(0.0, static_cast<double>(to - from) - out.busy_ns);
  return out;
}

}  // namespace

RangeTotals totals_of(const kit::SessionData& data, const Timeline& timeline, const kit::TimeRange& range) {
  const bool all = range.from_ns == range.to_ns;
  const int64_t from = all ? 0 : range.from_ns, to = all ? timeline.end_ns : range.to_ns;
  return {static_cast<double>(to - from), side_of(data, timeline, timeline.facing_eager, from, to),
          side_of(data, timeline, timeline.facing_compiled, from, to)};
}

}  // namespace vitrine::views
