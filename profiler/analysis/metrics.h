// What is read of a GPU's own counters, one row a metric: by which of CUPTI's names, in which unit, and what
// it tells a person who writes kernels. The session holds the values by key. All of them together take a GPU
// five runs of a kernel (H100, H200); a GPU that lacks one is read without it.
#pragma once

#include <array>
#include <string_view>

namespace vitrine::profiler {

struct Metric {
  std::string_view key, label, unit;  // unit: "ns", "B", "%" (0 to 100), "" (a plain number)
  std::string_view counter;           // CUPTI's name
  std::string_view over;              // "": the counter itself; else the value is its share of this one
  std::string_view about;
};

// clang-format off
inline constexpr auto kMetrics = std::to_array<Metric>({
    {"time", "time", "ns", "gpu__time_duration.sum", "",
     "of the kernel alone, while it is counted: no part of any speed-up"},
    {"dram_read", "read from DRAM", "B", "dram__bytes_read.sum", "", "what the caches did not hold"},
    {"dram_written", "written to DRAM", "B", "dram__bytes_write.sum", "", "what left the caches by the end"},
    {"dram_busy", "DRAM throughput", "%", "dram__throughput.avg.pct_of_peak_sustained_elapsed", "",
     "of what the memory can move"},
    {"l2_moved", "asked of L2", "B", "lts__t_bytes.sum", "", "by all multiprocessors together"},
    {"l2_hits", "L2 hit rate", "%", "lts__t_sectors_lookup_hit.sum", "lts__t_sectors.sum",
     "of the sectors that were asked of L2"},
    {"l1_hits", "L1 hit rate", "%", "l1tex__t_sector_hit_rate.pct", "", "of the sectors that were asked of L1"},
    {"load_sectors", "sectors a load", "", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
     "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
     "of 32 bytes, by one load of a warp: 4 where threads read neighbouring 4 bytes, 16 where 16 bytes"},
    {"store_sectors", "sectors a store", "", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
     "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "the same of one store of a warp"},
    {"bank_conflicts", "bank conflicts", "", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "",
     "turns that shared memory took beyond one an access"},
    {"local_read", "spills read", "B", "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", "",
     "of local memory: what registers could not hold"},
    {"local_written", "spills written", "B", "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum", "",
     "to local memory: what registers could not hold"},
    {"sm_busy", "SM throughput", "%", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "",
     "of the busiest part of the multiprocessors, of what it can do"},
    {"issue_busy", "issue slots busy", "%", "smsp__issue_active.avg.pct_of_peak_sustained_active", "",
     "of the cycles in which a scheduler had warps"},
    {"occupancy", "achieved occupancy", "%", "sm__warps_active.avg.pct_of_peak_sustained_active", "",
     "warps at work, of those a multiprocessor can hold"},
    {"tensor_busy", "tensor pipe active", "%", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "",
     "of the cycles of the kernel"},
    {"stall_memory", "stalled on memory", "%", "smsp__warps_issue_stalled_long_scoreboard.sum", "smsp__warps_active.sum",
     "of the warps' cycles: waiting for what was loaded from L1, L2 or DRAM"},
    {"stall_queue", "stalled on load queue", "%", "smsp__warps_issue_stalled_lg_throttle.sum", "smsp__warps_active.sum",
     "of the warps' cycles: too many loads and stores under way"},
    {"stall_shared", "stalled on shared memory", "%", "smsp__warps_issue_stalled_short_scoreboard.sum",
     "smsp__warps_active.sum", "of the warps' cycles: waiting for shared memory, shuffles or special functions"},
    {"stall_barrier", "stalled at barriers", "%", "smsp__warps_issue_stalled_barrier.sum", "smsp__warps_active.sum",
     "of the warps' cycles: waiting for other warps of the block"},
    {"stall_math", "stalled on arithmetic", "%", "smsp__warps_issue_stalled_math_pipe_throttle.sum",
     "smsp__warps_active.sum", "of the warps' cycles: the pipe they need is taken"},
    {"stall_wait", "stalled on latency", "%", "smsp__warps_issue_stalled_wait.sum", "smsp__warps_active.sum",
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
