// Records what the GPU and CUDA's API do, through CUPTI, which is opened at run time. One recording a
// process: CUPTI serves one subscriber.
#pragma once

#include <string>

#include "core/base/result.h"

namespace vitrine::profiler {

// Begins to record, on the clock CLOCK_MONOTONIC. library: path of libcupti, or "" to look where the loader
// looks. Errors: there is no CUPTI, or an old one; another profiler records already (PyTorch's, Nsight); the
// system does not allow it. Nothing stays switched on then. The GIL is not needed.
// others_idle: whoever has subscribed to CUPTI records nothing now. PyTorch's profiler stays subscribed for
// good once it was used, even for the CPU alone; records of activities need no subscription, which only says
// whose they are.
Status start_recording(const std::string& library, bool others_idle = false);

// Waits for what was launched to be recorded, and ends. The log (events/activity.h) of all since the start;
// "" without a recording. dropped (may be null): records that CUPTI had no room for.
std::string stop_recording(int64_t* dropped = nullptr);

}  // namespace vitrine::profiler
