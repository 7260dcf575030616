// From eager's time to the compiled one, step by step, so that the steps add up to the measured difference:
// what each group of eager operators gained or lost against the launches that replaced it, what was not
// needed, what ran at the same time, and how long either side was idle. The parts are those of profiled
// calls: on the CPU all of a call take longer by what profiling costs, and are scaled to the median of the
// measured calls; where that would be by more than a profiler explains, it is a row of its own.
#pragma once

#include <vector>

#include "views/timeline/timeline_data.h"

namespace vitrine::views {

struct SpeedupStep {
  enum class Kind {
    Group,      // eager operators and what replaced them
    Idle,       // of one side
    Profiling,  // what the calls whose slices these are took besides
    Rest        // not explained
  };
  QString text;
  double ns = 0;  // gained; negative: lost
  Id launch = 0;  // the first of its launches
  QString note;   // for the tooltip
  Kind kind = Kind::Group;
};
struct Speedup {
  double eager_ns = 0, compiled_ns = 0;  // medians of unprofiled calls
  // They add up to eager_ns - compiled_ns: what profiling eager cost, gains by size, losses, what profiling
  // the compiled side cost, and what none of them explains, where that is anything.
  std::vector<SpeedupStep> steps;
  double eager_scale = 1, compiled_scale = 1;  // of what the profiled calls took
  bool empty() const { return steps.empty(); }
  // "profiled parts × 0.62 (eager) and × 0.98 (compiled), to the median calls"; "" where they are as they
  // were.
  QString scaled_words() const;
  // The most and the least that the way from eager to compiled reaches: losses may lead above both.
  double widest() const;
  double lowest() const;
  // With the smallest groups as one, so that there are no more steps than that where there can be.
  Speedup fitted(size_t most) const;
};

// Empty where both sides were not measured. Slices are of one profiled call a side.
Speedup speedup_of(const kit::SessionData& data, const Timeline& timeline);

}  // namespace vitrine::views
