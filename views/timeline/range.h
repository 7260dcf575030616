// What happened in a piece of time, eager and compiled side by side.
#pragma once

#include <vector>

#include "views/kit/selection/selection.h"
#include "views/timeline/timeline_data.h"

namespace vitrine::views {

struct RangeSide {
  bool known = false;
  bool all_kept = true;  // else only kept calls count, and what lies between them may be others
  double busy_ns = 0, idle_ns = 0, longest_gap_ns = 0;
  int64_t slices = 0;  // that begin in it: operators, kernels
  double bytes = 0;    // that these move; 0 = not known
  double flops = 0;
};
struct RangeTotals {
  double ns = 0;
  RangeSide eager, compiled;
};

// Of what work_of says, cut at the range's ends: the waterfall's times. An empty range is all of the time of
// each side.
RangeTotals totals_of(const kit::SessionData& data, const Timeline& timeline, const kit::TimeRange& range);

}  // namespace vitrine::views
