// Places in the arena: buffers whose lifetimes do not overlap may share one. Best fit, the largest first.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/sym.h"

namespace vitrine::fusion {

struct Lifetime {
  ir::Sym bytes = 0;
  int32_t first = 0, last = 0;  // steps, both inclusive
  ir::Sym offset = -1;          // found by plan_arena; a multiple of 64
  int32_t reuses = -1;          // a buffer that had (part of) this place just before, or -1
};

// Fills offsets and reuses; returns the arena's size in bytes. Where a size is symbolic the places are right
// for all sizes that the ranges allow: a buffer goes where another is known to be as large.
ir::Sym plan_arena(std::vector<Lifetime>& buffers);

}  // namespace vitrine::fusion
