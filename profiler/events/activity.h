// What CUPTI recorded, as plain values: kernels, copies, memsets, calls of CUDA's API, waiting, and CUPTI's
// own cost. Read from a log: CUPTI's records as they were, so that a run can be looked at again elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::profiler {

struct Activity {
  enum class Kind : uint8_t { kernel, copy, set, runtime_call, driver_call, wait, graph, overhead };
  Kind kind = Kind::kernel;
  std::string name;                  // of a kernel mangled; "cudaLaunchKernel"; "copy HtoD"
  int64_t start_ns = 0, end_ns = 0;  // of the clock that the recording was given
  uint32_t device = 0, stream = 0;   // where it ran; of a call 0
  uint32_t thread = 0;               // of a call: the system's number of it
  uint32_t correlation = 0;          // the same number for a call and what it started
  uint64_t graph_node = 0;           // of a CUDA graph's node
  int64_t bytes = 0;                 // moved or set
  int64_t blocks = 0;                // of a kernel
  int32_t threads = 0, registers = 0, shared_bytes = 0;
};

std::string_view kind_name(Activity::Kind kind);

// One entry of a log: a record's bytes and the name that it points to.
void append_to_log(std::string& log, std::string_view record, std::string_view name);

// By start. A log that is damaged gives the entries until there; records of other kinds and those without a
// time are left out.
std::vector<Activity> activities_of(std::string_view log);

}  // namespace vitrine::profiler
