// From eager's time to the compiled one, step by step: what each kind of kernel gained or lost against the
// eager operators it replaced, what was not needed, what stood between operators, and what none of these
// explains.
#pragma once

#include <vector>

#include "views/timeline/timeline_data.h"

namespace vitrine::views {

struct SpeedupStep {
  QString text;
  double ns = 0;  // gained; negative: lost
  Id launch = 0;  // the first of its launches
  QString note;   // for the tooltip
};
struct Speedup {
  double eager_ns = 0, compiled_ns = 0;  // medians of unprofiled calls
  std::vector<SpeedupStep> steps;  // they add up to eager_ns - compiled_ns: gains by size, losses, the rest
  bool empty() const { return steps.empty(); }
  // The most that the way from eager to compiled reaches: losses may lead above both.
  double widest() const;
};

// Empty where both sides were not measured. Slices are of one profiled call a side; that it took another time
// than the median is the last step.
Speedup speedup_of(const kit::SessionData& data, const Timeline& timeline);

}  // namespace vitrine::views
