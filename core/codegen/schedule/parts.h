// How long reductions are shared by work items on a CPU. Only sizes decide, never the number of threads: the
// same sums are added in the same order everywhere.
#pragma once

#include "core/codegen/schedule/schedule.h"

namespace vitrine::codegen {

// Neighbouring rows that a work item of a schedule across rows takes. sized: the text serves many sizes.
int64_t tile_of(const Schedule& s, int lanes, bool sized);

// What Schedule::parts should be.
int64_t parts_of(const Schedule& s, int lanes, bool sized);

// The dim that parts divide: the longest, of equals the outermost.
size_t split_dim(const Schedule& s);

}  // namespace vitrine::codegen
