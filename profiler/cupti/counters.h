// The GPU's own counters, kernel by kernel, through CUPTI's range profiler, which is opened at run time. What
// is launched between begin_pass() and end_pass() runs alone, kernel after kernel; a GPU has fewer counters
// than there are metrics, so that it takes several passes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace vitrine::profiler {

// Who runs a kernel again for the next pass: CUPTI, which keeps and restores all memory that it may write, or
// the caller, who launches the same kernels in each pass.
enum class ReplayMode : uint8_t { by_cupti, by_caller };

struct Counted {
  // In the order of the launches, each by row of kMetrics (analysis/metrics.h); NaN: this GPU does not count
  // it.
  std::vector<std::vector<double>> kernels;
  size_t passes = 0;
  size_t dropped = 0;  // kernels beyond `most`
};

class CounterSession {
 public:
  // Prepares to count on the GPU whose context is current on this thread. library: path of libcupti or "";
  // device: CUDA's number of it; most: kernels of a pass. Errors: no or an old CUPTI, no context, and what
  // the system, another profiler or the GPU refuses. Nothing stays switched on then. The GIL is not needed in
  // any function.
  static Result<std::unique_ptr<CounterSession>> open(const std::string& library, int device, size_t most,
                                                      ReplayMode replay);
  ~CounterSession();
  CounterSession(const CounterSession&) = delete;
  CounterSession& operator=(const CounterSession&) = delete;

  Status begin_pass();
  // What was launched must have ended. true: that was the last pass.
  Result<bool> end_pass();
  size_t passes() const;
  // After the last pass.
  Result<Counted> read();

 private:
  CounterSession();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vitrine::profiler
