// What kernels are laid out for of a GPU: how much shared memory it has, and whether blocks may read each
// other's.
#pragma once

#include <cstdint>
#include <string_view>

namespace vitrine::codegen::cuda {

// Of one that is not known: what all of the last generations have.
struct Gpu {
  int64_t block_bytes = 99 << 10;            // shared memory that one block may have
  int64_t multiprocessor_bytes = 100 << 10;  // and all blocks of a multiprocessor together
  bool clusters = false;                     // blocks may run in clusters
  bool matrices = false;                     // tensor cores multiply f16 and bf16, 16 x 8 x 16 at a time
  bool tiles = false;    // a copy engine brings tiles, and tensor cores multiply them where they lie (wgmma)
  bool follows = false;  // a kernel may start, and wait, while what was launched before it still runs
};

// Bytes of shared memory that a kernel's text may declare, on any GPU; more is asked for at its launch.
inline constexpr int64_t kMostNamedShared = int64_t{48} << 10;

// arch: "sm_90", with any letters behind.
Gpu gpu_of(std::string_view arch);

}  // namespace vitrine::codegen::cuda
