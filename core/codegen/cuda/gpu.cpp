#include "core/codegen/cuda/gpu.h"

namespace vitrine::codegen::cuda {

namespace {

struct GpuRow {
  std::string_view arch;
  int64_t block_kib, multiprocessor_kib;
  bool clusters, matrices, follows;
};
// Compute capabilities as NVIDIA's programming guide has them.
constexpr GpuRow kRows[] = {
    {"sm_70", 96, 96, false, false, false}, {"sm_72", 96, 96, false, false, false},
    {"sm_75", 64, 64, false, false, false}, {"sm_80", 163, 164, false, true, false},
    {"sm_86", 99, 100, false, true, false}, {"sm_87", 163, 164, false, true, false},
    {"sm_89", 99, 100, false, true, false}, {"sm_90", 227, 228, true, true, true},
    {"sm_100", 227, 228, true, true, true}, {"sm_103", 227, 228, true, true, true},
    {"sm_110", 227, 228, true, true, true}, {"sm_120", 99, 100, false, true, true},
    {"sm_121", 99, 100, false, true, true},
};

constexpr std::string_view kTiles = "sm_90";  // alone: its instructions did not stay

}  // namespace

Gpu gpu_of(std::string_view arch) {
  while (!arch.empty() && (arch.back() < '0' || arch.back() > '9')) arch.remove_suffix(1);
  for (const GpuRow& row : kRows)
    if (row.arch == arch)
      return {row.block_kib << 10, row.multiprocessor_kib << 10, row.clusters,
              row.matrices,        row.arch == kTiles,           row.follows};
  return {};
}

}  // namespace vitrine::codegen::cuda
