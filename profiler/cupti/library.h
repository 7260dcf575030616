// CUPTI's library, opened at run time, and what it answers in words. All of profiler/cupti uses one copy of
// it: the process has one CUPTI, which PyTorch may have loaded already.
#pragma once

#include <string>

#include "core/base/result.h"

namespace vitrine::profiler {

using Code = int;  // CUptiResult: 0 = success

// The library's handle. path: of libcupti, or "" to look where the loader looks; the first call of a process
// decides. Errors: there is none.
Result<void*> cupti_library(const std::string& path);

// Another subscriber serves this process.
constexpr Code kOtherSubscriber = 39;

// What a refusal means and what to do. doing: "CUPTI does not record (enable)" stands before CUPTI's own
// words where nothing better is known.
Error explained(void* library, Code code, const std::string& doing);

// CUPTI forgets all that it knows of this process, whoever asked for it: nothing may be recorded meanwhile,
// by PyTorch's profiler neither. It learns of the loaded modules anew when it is used again; without that it
// gives no samples of kernels that were loaded while it only recorded activities. Nothing happens where there
// is no CUPTI.
void forget_process(const std::string& path);

// The CUDA context that is current on this thread; nullptr: none, or no driver.
void* current_context();

}  // namespace vitrine::profiler
