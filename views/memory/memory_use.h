// What one eager and one compiled call hold of memory over their time, and what it is at any moment: from the
// allocations of both calls, and from the memory plan for what shares the compiled call's one block.
#pragma once

#include <QString>
#include <memory>
#include <utility>
#include <vector>

#include "views/kit/session/session_data.h"

namespace vitrine::views {

struct MemorySide {
  bool recorded = false;
  std::vector<session::AllocationRow> blocks;     // by start
  std::vector<std::pair<int64_t, double>> steps;  // bytes held from then on
  double peak = 0;
  int64_t peak_ns = 0, call_ns = 0;
  double held_at(int64_t ns) const;
  std::vector<const session::AllocationRow*> blocks_at(int64_t ns) const;  // the largest first
};

struct MemoryUse {
  Id run = 0;
  MemorySide eager, compiled;
  bool empty() const { return !eager.recorded && !compiled.recorded; }
  int64_t end_ns() const { return std::max(eager.call_ns, compiled.call_ns); }
  double most() const { return std::max(eager.peak, compiled.peak); }
};
using MemoryUsePtr = std::shared_ptr<const MemoryUse>;

MemoryUsePtr memory_use(const kit::SessionData& data, Id run);

// Buffers of the plan that are in use at a launch and have a place in the block for temporaries, the largest
// first.
std::vector<const session::BufferRow*> buffers_at(const kit::SessionData& data, Id launch);
// The launch at which a compilation's temporaries need most.
Id fullest_launch(const kit::SessionData& data, Id compilation);

}  // namespace vitrine::views
