// Parts of a kernel's columns in which all that is chosen by column alone is known: where tensors are joined,
// padded or shifted, each part reads and computes only what it takes.
#pragma once

#include <optional>
#include <vector>

#include "core/codegen/schedule/schedule.h"

namespace vitrine::codegen {

struct ColumnSegment {
  ir::Sym from = 0, to = 0;                // columns
  std::vector<std::optional<Load>> loads;  // by load of the schedule, as it is here; none: nobody asks for it
  std::vector<fusion::ExprPtr> values;     // by value, what it is here; nullptr: nobody asks for it
};

// One behind another, over all columns. Empty: nothing is chosen so, or the text would grow too long. sized:
// the text serves many sizes, of which none decides.
std::vector<ColumnSegment> segments_of(const Schedule& schedule, int lanes, bool sized);

}  // namespace vitrine::codegen
