// What a fusion saves a call, or what a pair that stays apart costs: bytes, launches, time; and what would
// have to change for the pair to be one kernel.
#pragma once

#include <string>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::profiler {

using session::CeilingRow;
using session::DecisionRow;
using session::LaunchRow;

// By which bytes and launches become time; 0: not known. launch_ns: what a launch takes that does least.
struct FusionRates {
  double copy = 0, launch_ns = 0;  // copy: bytes a second
};
FusionRates fusion_rates(const std::vector<CeilingRow>& ceilings, const std::vector<LaunchRow>& launches);

// Change of a call's time in ns, negative where it is shorter: what was recorded, else by the rates; 0: not
// known.
double estimated_ns(const DecisionRow& decision, const FusionRates& rates);

// Of a pair that was not fused: "write it without the write in place"; "" where nothing is known to help, or
// it is fused.
std::string what_would_change(const DecisionRow& decision);

}  // namespace vitrine::profiler
