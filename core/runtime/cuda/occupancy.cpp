#include "core/runtime/cuda/occupancy.h"

#include <algorithm>
#include <cstdlib>

namespace vitrine::runtime::cuda {

namespace {

// CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability": of a multiprocessor,
// warps and blocks at once and kB of shared memory. All of them have 4 * 16384 registers of 32 bits, given
// out to warps in pieces of 256; shared memory is given out in pieces of 128 bytes, and from 8.0 on the
// system takes 1 kB of it for each block.
struct OccupancyLimits {
  int capability;
  int warps, blocks, shared_kb;
};
constexpr OccupancyLimits kLimits[] = {
    {75, 32, 16, 64},  {80, 64, 32, 164},  {86, 48, 16, 100},  {87, 48, 16, 164},  {89, 48, 24, 100},
    {90, 64, 32, 228}, {100, 64, 32, 228}, {103, 64, 32, 228}, {120, 48, 24, 100}, {121, 48, 24, 100},
};
constexpr int kWarp = 32, kParts = 4, kPartRegisters = 16384, kRegisterPiece = 256;
constexpr int kSharedPiece = 128, kReserved = 1024;

// A warp lives in one of the four parts of a multiprocessor, each with registers of its own.
int64_t warps_by_registers(int registers) {
  const int64_t a_warp = (int64_t{registers} * kWarp + kRegisterPiece - 1) / kRegisterPiece * kRegisterPiece;
  return kParts * (kPartRegisters / a_warp);
}

int64_t round_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

}  // namespace

// blocks = min(warps_sm / warps_block, blocks_sm, warps_by_registers / warps_block, shared_sm / shared_block)
// warps_by_registers = 4 * floor(16384 / round_up(registers * 32, 256))
// occupancy = blocks * warps_block / warps_sm
// as the occupancy calculator of Nsight Compute has it (its documentation, "Occupancy Calculator").
std::optional<Occupancy> theoretical_occupancy(const std::string& arch, int threads, int registers,
                                               int64_t shared_bytes) {
  const int capability = arch.starts_with("sm_") ? std::atoi(arch.c_str() + 3) : 0;
  const auto* l = std::find_if(std::begin(kLimits), std::end(kLimits),
                               [&](const OccupancyLimits& each) { return each.capability == capability; });
  if (l == std::end(kLimits) || threads <= 0) return {};
  const int warps = (threads + kWarp - 1) / kWarp;
  const auto used = round_up(shared_bytes + (capability >= 80 ? kReserved : 0), kSharedPiece);
  struct Bound {
    const char* name;
    int64_t blocks;
  };
  // The first of equal bounds is named.
  const Bound bounds[] = {
      {"threads", l->warps / warps},
      {"blocks", l->blocks},
      {"registers", registers <= 0 ? l->blocks : warps_by_registers(registers) / warps},
      {"shared memory", used <= 0 ? l->blocks : l->shared_kb * 1024 / used},
  };
  const Bound* least = std::min_element(std::begin(bounds), std::end(bounds),
                                        [](const Bound& a, const Bound& b) { return a.blocks < b.blocks; });
  if (least->blocks <= 0) return {};
  const int blocks = static_cast<int>(least->blocks);
  return Occupancy{blocks, blocks * warps, l->warps, least->name};
}

}  // namespace vitrine::runtime::cuda
