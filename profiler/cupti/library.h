// CUPTI's library, opened at run time, and what it answers in words. All of profiler/cupti uses one copy of
// it: the process has one CUPTI, which PyTorch may have loaded already.
#pragma once

#include <string>
#include <type_traits>

#include "core/base/result.h"

namespace vitrine::profiler {

using CuptiResult = int;  // CUptiResult: 0 = success

// The library's handle. path: of libcupti, or "" to look where the loader looks; the first call of a process
// decides. Errors: there is none.
Result<void*> cupti_library(const std::string& path);

// The address of a function; nullptr: the library lacks it.
void* symbol(void* library, const char* name);

// All that F::each(take) names, take(function pointer, exported name), and F::library. lacking: "this CUPTI
// reads no counters" stands before what it lacks. Errors: there is no CUPTI, or one that is too old.
template <class F>
Result<F> cupti_functions(const std::string& path, const std::string& lacking) {
  auto open = cupti_library(path);
  if (!open) return open.error();
  F f;
  f.library = open.value();
  const char* lacks = nullptr;
  f.each([&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol(f.library, name));
    if (!function) lacks = name;
  });
  if (!lacks) return f;
  return Error{lacking + " (it lacks " + lacks + ")", "Use the CUPTI of CUDA 13."};
}

// Another subscriber serves this process.
constexpr CuptiResult kOtherSubscriber = 39;

// What a refusal means and what to do. doing: "CUPTI does not record (enable)" stands before CUPTI's own
// words where nothing better is known.
Error explained(void* library, CuptiResult code, const std::string& doing);

// CUPTI forgets all that it knows of this process, whoever asked for it: nothing may be recorded meanwhile,
// by PyTorch's profiler neither. It learns of the loaded modules anew when it is used again; without that it
// gives no samples of kernels that were loaded while it only recorded activities. Nothing happens where there
// is no CUPTI.
void forget_process(const std::string& path);

// The CUDA context that is current on this thread; nullptr: none, or no driver.
void* current_context();

}  // namespace vitrine::profiler
