// What is read of a GPU's own counters, one row a metric: by which of CUPTI's names, in which unit, and what
// it tells a person who writes kernels. The session holds the values by key. All of them together take a GPU
// five runs of a kernel (H100, H200); a GPU that lacks one is read without it.
#pragma once

#include <array>
#include <string_view>

namespace vitrine::profiler {

struct Metric {
  std::string_view key, label, unit;  // unit: "ns", "B", "%" (0 to 100), or what a plain number counts
  std::string_view counter;           // CUPTI's name
  std::string_view over;              // "": the counter itself; else the value is its share of this one
  std::string_view about;
};

// clang-format off
inline constexpr auto kMetrics = std::to_array<Metric>({
    {"time", "time", "ns", "gpu__time_duration.sum", "",
     "of the kernel alone, while it is counted: no part of any speed-up"},
    {"dram_read", "DRAM read", "B", "dram__bytes_read.sum", "", "what the caches did not hold"},
    {"dram_written", "DRAM write", "B", "dram__bytes_write.sum", "", "what left the caches by the end"},
    {"dram_busy", "DRAM busy", "%", "dram__throughput.avg.pct_of_peak_sustained_elapsed", "",
     "its throughput, of what the memory can move"},
    {"l2_moved", "L2 traffic", "B", "lts__t_bytes.sum", "", "by all multiprocessors together"},
    {"l2_hits", "L2 hits", "%", "lts__t_sectors_lookup_hit.sum", "lts__t_sectors.sum",
     "of the sectors that were asked of L2"},
    {"l1_hits", "L1 hits", "%", "l1tex__t_sector_hit_rate.pct", "", "of the sectors that were asked of L1"},
    {"load_sectors", "a load", "sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
     "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
     "of 32 bytes, by one load of a warp: 4 where threads read neighbouring 4 bytes, 16 where 16 bytes"},
    {"store_sectors", "a store", "sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
     "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "the same of one store of a warp"},
    {"bank_conflicts", "conflicts", "", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "",
     "of banks: turns that shared memory took beyond one an access"},
    {"local_read", "spill read", "B", "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", "",
     "of local memory: what registers could not hold"},
    {"local_written", "spill write", "B", "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum", "",
     "to local memory: what registers could not hold"},
    {"sm_busy", "SM busy", "%", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "",
     "of the busiest part of the multiprocessors, of what it can do"},
    {"issue_busy", "issue busy", "%", "smsp__issue_active.avg.pct_of_peak_sustained_active", "",
     "of the cycles in which a scheduler had warps"},
    {"occupancy", "occupancy", "%", "sm__warps_active.avg.pct_of_peak_sustained_active", "",
     "warps at work, of those a multiprocessor can hold"},
    {"tensor_busy", "tensor busy", "%", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "",
     "the tensor pipe, of the cycles of the kernel"},
    {"stall_memory", "wait memory", "%", "smsp__warps_issue_stalled_long_scoreboard.sum", "smsp__warps_active.sum",
     "of the warps' cycles: waiting for what was loaded from L1, L2 or DRAM"},
    {"stall_queue", "wait queue", "%", "smsp__warps_issue_stalled_lg_throttle.sum", "smsp__warps_active.sum",
     "of the warps' cycles: too many loads and stores under way"},
    {"stall_shared", "wait shared", "%", "smsp__warps_issue_stalled_short_scoreboard.sum",
     "smsp__warps_active.sum", "of the warps' cycles: waiting for shared memory, shuffles or special functions"},
    {"stall_barrier", "wait barrier", "%", "smsp__warps_issue_stalled_barrier.sum", "smsp__warps_active.sum",
     "of the warps' cycles: waiting for other warps of the block"},
    {"stall_math", "wait math", "%", "smsp__warps_issue_stalled_math_pipe_throttle.sum",
     "smsp__warps_active.sum", "of the warps' cycles: the pipe they need is taken"},
    {"stall_wait", "wait latency", "%", "smsp__warps_issue_stalled_wait.sum", "smsp__warps_active.sum",
     "of the warps' cycles: the instruction before takes a fixed time"},
});
// clang-format on

// nullptr: another version's.
constexpr const Metric* metric_of(std::string_view key) {
  for (const Metric& m : kMetrics)
    if (m.key == key) return &m;
  return nullptr;
}

}  // namespace vitrine::profiler
