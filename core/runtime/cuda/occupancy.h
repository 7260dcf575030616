// How many warps of a kernel a multiprocessor of a GPU can hold at once, from what the kernel takes and the
// architecture gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vitrine::runtime::cuda {

struct Occupancy {
  int blocks = 0;  // of a multiprocessor at once
  int warps = 0, most_warps = 0;
  std::string limit;  // what allows no more: "threads", "blocks", "registers" or "shared memory"
  double part() const { return most_warps ? static_cast<double>(warps) / most_warps : 0; }
};

// arch: "sm_90". threads: of a block; registers: of a thread; shared_bytes: of a block. Nothing: the
// architecture is not known here, or the block does not fit at all.
std::optional<Occupancy> theoretical_occupancy(const std::string& arch, int threads, int registers,
                                               int64_t shared_bytes);

}  // namespace vitrine::runtime::cuda
