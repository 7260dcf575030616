// Graph breaks as a person counts them: by place. Each compilation of a segment ends at the same instruction
// and records a row of its own; together they are one break.
#pragma once

#include <vector>

#include "views/kit/session_data.h"

namespace vitrine::kit {

struct BreakPlace {
  std::vector<const session::BreakRow*> rows;  // the dearest first, never empty
  int64_t calls = 0;
  double ns_per_call = 0;  // over all calls
};

// Of a run, 0 = of all; in order of their first row.
std::vector<BreakPlace> breakPlaces(const SessionData& data, Id run);

}  // namespace vitrine::kit
