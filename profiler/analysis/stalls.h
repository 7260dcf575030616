// Why a sampled warp did not go on, one row a reason: the hardware's word for it, as the session has it, a
// person's, and what it means. Another GPU may have others: they stand as they are.
#pragma once

#include <array>
#include <string_view>

namespace vitrine::profiler {

struct Stall {
  std::string_view reason, label, about;
};

// clang-format off
inline constexpr auto kStalls = std::to_array<Stall>({
    {"selected", "issued", "the warp went on with this instruction"},
    {"not_selected", "not selected", "it could have gone on; the scheduler took another warp"},
    {"long_scoreboard", "memory", "waiting for what an earlier load brings from L1, L2 or DRAM"},
    {"lg_throttle", "load queue", "too many loads and stores of global or local memory are under way"},
    {"short_scoreboard", "shared memory", "waiting for shared memory, a shuffle or a special function"},
    {"mio_throttle", "shared queue", "too many accesses to shared memory, shuffles or special functions are under way"},
    {"barrier", "barrier", "waiting for the other warps of the block"},
    {"membar", "fence", "waiting for a memory fence"},
    {"math_pipe_throttle", "arithmetic", "the pipe that computes it is taken"},
    {"wait", "latency", "the instruction before takes a fixed number of cycles"},
    {"dispatch_stall", "dispatch", "the dispatcher was held up"},
    {"drain", "drain", "the kernel ends: stores are still under way"},
    {"imc_miss", "constants", "waiting for a constant that is not in the cache"},
    {"no_instruction", "instructions", "waiting for the instruction itself: a jump, or code that is not in the cache"},
    {"no_instructions", "instructions", "waiting for the instruction itself: a jump, or code that is not in the cache"},
    {"branch_resolving", "branch", "waiting for where a branch goes"},
    {"branch_resolve", "branch", "waiting for where a branch goes"},
    {"sleeping", "sleep", "the program asked to sleep"},
    {"tex_throttle", "texture queue", "too many texture accesses are under way"},
    {"gmma", "tensor cores", "waiting for a matrix instruction of the group"},
    {"misc", "other", "another reason"},
});
// clang-format on

constexpr std::string_view stall_label(std::string_view reason) {
  for (const Stall& s : kStalls)
    if (s.reason == reason) return s.label;
  return reason;
}

}  // namespace vitrine::profiler
