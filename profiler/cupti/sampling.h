// Where a GPU's warps stand and why they do not go on: CUPTI's PC sampling, kernel after kernel, opened at
// run time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace vitrine::profiler {

// How often one instruction of a kernel was met, waiting for one reason.
struct StallSample {
  std::string function;      // its name on the device
  uint64_t cubin = 0;        // which machine code: equal for equal code
  uint32_t correlation = 0;  // of the launch, as in CUPTI's activities
  int64_t offset = 0;        // of the instruction, in bytes from the function's begin
  std::string reason;        // "long_scoreboard"; "selected": it went on
  int64_t samples = 0;
};

struct Samples {
  std::vector<StallSample> rows;
  // dropped: the hardware had no room for them; unknown: of kernels whose code CUPTI does not know, not in
  // rows
  int64_t total = 0, dropped = 0, unknown = 0;
};

class SamplingSession {
 public:
  // Prepares to sample the GPU whose context is current on this thread, every 2^period cycles (5 to 31).
  // Errors: no CUPTI, no context, and what the system, another profiler or the GPU refuses. Nothing stays
  // switched on then. The GIL is not needed in any function.
  static Result<std::unique_ptr<SamplingSession>> open(const std::string& library, uint32_t period);
  ~SamplingSession();
  SamplingSession(const SamplingSession&) = delete;
  SamplingSession& operator=(const SamplingSession&) = delete;

  Status start();
  // What was launched must have ended.
  Result<Samples> stop();

 private:
  SamplingSession();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vitrine::profiler
