// Places in the arena: buffers whose lifetimes do not overlap may share one. Best fit, the largest first.
#pragma once

#include <cstdint>
#include <vector>

namespace vitrine::fusion {

struct Lifetime {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;  // steps, both inclusive
  int64_t offset = -1;          // found by plan_arena; a multiple of 64
  int32_t reuses = -1;          // a buffer that had (part of) this place just before, or -1
};

// Fills offsets and reuses; returns the arena's size in bytes.
int64_t plan_arena(std::vector<Lifetime>& buffers);

}  // namespace vitrine::fusion
