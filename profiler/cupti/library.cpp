#include "profiler/cupti/library.h"

#include <dlfcn.h>

namespace vitrine::profiler {

namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

struct Refusal {
  CuptiResult code;
  const char *what, *hint;
};

constexpr const char* kPrivileges = "the system does not allow this user to profile the GPU";
constexpr const char* kAllow =
    "As root, load the driver with NVreg_RestrictProfilingToAdminUsers=0, or give the container "
    "CAP_SYS_ADMIN.";

// CUptiResult -> what it means and what to do.
constexpr Refusal kRefusals[] = {
    {kOtherSubscriber, "another profiler already records this process through CUPTI",
     "PyTorch's profiler with CUDA activities, Nsight Systems and Nsight Compute use the same interface; end "
     "it and "
     "record again."},
    {35, kPrivileges, kAllow},
    {40, kPrivileges,
     "This GPU is a virtual one: its host must allow profiling, and the driver here must be loaded with "
     "NVreg_RestrictProfilingToAdminUsers=0."},
    {26, "another program reads the GPU's counters",
     "Nsight Compute, DCGM's profiling metrics or another profiler holds them; end it, or pause it with "
     "dcgmi "
     "profile --pause."},
    {33, "this virtual GPU lets nobody profile it", "Use a GPU that is passed through, or another host."},
    {38, "this CUPTI does not profile this GPU that way", "Use the CUPTI of the driver's CUDA version."},
    {41, "the GPU computes confidentially and lets nobody profile it", "Switch confidential computing off."},
    {43, "the GPU is divided (MIG), and this part of it cannot be profiled", "Use a whole GPU."},
    {45, "profiling is not switched on for WSL", "Allow it in NVIDIA's control panel on Windows."},
    {46, "this CUPTI is older than the GPU", "Install the CUPTI of a newer CUDA version."},
    {27, "CUPTI does not support this on this GPU", "Counters need compute capability 7.5 or newer."},
};

}  // namespace

Result<void*> cupti_library(const std::string& path) {
  static void* const kFound = [&]() -> void* {
    void* open = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY);
    for (const char* name : kNames)
      if (!open) open = dlopen(name, RTLD_LAZY);
    return open;
  }();
  if (kFound) return kFound;
  return Error{"CUPTI, CUDA's profiling library, was not found",
               "Install CUDA's toolkit, or the Python package nvidia-cuda-cupti."};
}

void* symbol(void* library, const char* name) {
  return dlsym(library, name);
}

Error explained(void* library, CuptiResult code, const std::string& doing) {
  for (const Refusal& row : kRefusals)
    if (row.code == code) return Error{row.what, row.hint};
  using Words = CuptiResult (*)(CuptiResult, const char**);
  const char* words = nullptr;
  if (auto look = reinterpret_cast<Words>(dlsym(library, "cuptiGetResultString"))) look(code, &words);
  return Error{doing + ": " + (words ? words : "error " + std::to_string(code)), ""};
}

void forget_process(const std::string& path) {
  auto library = cupti_library(path);
  if (!library) return;
  using Finalize = CuptiResult (*)();
  if (auto finalize = reinterpret_cast<Finalize>(dlsym(library.value(), "cuptiFinalize"))) finalize();
}

void* current_context() {
  using Current = int (*)(void**);
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  auto look = driver ? reinterpret_cast<Current>(dlsym(driver, "cuCtxGetCurrent")) : nullptr;
  void* context = nullptr;
  return look && look(&context) == 0 ? context : nullptr;
}

}  // namespace vitrine::profiler
