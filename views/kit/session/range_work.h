// What was at work in a selected piece of a run's time: operators, launches, calls, and what these belong to.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "views/kit/session/session_data.h"

namespace vitrine::kit {

struct AtWork {
  double ns = 0;            // inside of the piece
  int64_t times = 0;        // how often it is met there
  bool of_medians = false;  // only its calls are on the timeline: their number times the median of a launch
};
// By operator, launch, call's compilation, kernel, decision of fusion, and buffer that is alive there.
using RangeWork = std::unordered_map<Id, AtWork>;

// On the clock of the run's timeline. Reads columns, so call it from jobs only.
RangeWork rangeWork(const SessionData& data, Id run, int64_t from_ns, int64_t to_ns);

// "1.20–3.40 ms"
QString rangeText(int64_t from_ns, int64_t to_ns);

}  // namespace vitrine::kit
