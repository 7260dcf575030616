// What a side of the timeline did, for everything that adds up its time: the slices that count, and how the
// time of its call is divided into what they took and what lies between. On a GPU the work is what ran on its
// streams, else the operators or launches of the thread that called.
#pragma once

#include <vector>

#include "views/timeline/timeline_data.h"

namespace vitrine::views {

// By start. Outermost ones: what a linked slice does inside is a part of it. On a GPU, and of what was
// imported, all of them, linked or not.
std::vector<const Slice*> work_of(const Timeline& timeline, TimelineLane::Side side);
bool on_gpu(const Timeline& timeline, TimelineLane::Side side);

// Which slices of `work_of` begin an operator or a launch: a GPU may do one as several, as a memset and the
// kernel behind it.
std::vector<bool> beginnings(const Timeline& timeline, TimelineLane::Side side,
                             const std::vector<const Slice*>& work);

struct TimeUse {
  double busy = 0;      // at least one of them ran
  double together = 0;  // what others ran at the same time: the durations add up to busy + together
  double before = 0, between = 0, after = 0;  // idle: before the first, in the gaps, behind the last
  double longest_gap = 0;
  double idle() const { return before + between + after; }
};

// Of the time from `from` to `to`, by which slices are cut.
TimeUse time_use(const std::vector<const Slice*>& work, int64_t from, int64_t to);

}  // namespace vitrine::views
