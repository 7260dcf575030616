#include "core/package/gpu_memory.h"

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace vitrine::package {

// X(member, exported name, type); types as in cuda.h, where CUdeviceptr is a number.
#define VITRINE_GPU_MEMORY(X)                                          \
  X(init, "cuInit", int (*)(unsigned))                                 \
  X(device, "cuDeviceGet", int (*)(int*, int))                         \
  X(retain, "cuDevicePrimaryCtxRetain", int (*)(void**, int))          \
  X(make_current, "cuCtxSetCurrent", int (*)(void*))                   \
  X(wait, "cuCtxSynchronize", int (*)())                               \
  X(allocate, "cuMemAlloc_v2", int (*)(uint64_t*, size_t))             \
  X(release, "cuMemFree_v2", int (*)(uint64_t))                        \
  X(upload, "cuMemcpyHtoD_v2", int (*)(uint64_t, const void*, size_t)) \
  X(download, "cuMemcpyDtoH_v2", int (*)(void*, uint64_t, size_t))

struct GpuMemory::Functions {
#define X(member, name, ...) std::add_pointer_t<std::remove_pointer_t<__VA_ARGS__>> member = nullptr;
  VITRINE_GPU_MEMORY(X)
#undef X
};

// nullptr: there is no driver.
const GpuMemory::Functions* GpuMemory::functions() {
  static const Functions* const kFound = []() -> const Functions* {
    void* library = dlopen("libcuda.so.1", RTLD_LAZY);
    if (!library) return nullptr;
    static Functions f;
    bool all = true;
#define X(member, name, ...)                                             \
  f.member = reinterpret_cast<decltype(f.member)>(dlsym(library, name)); \
  all = all && f.member;
    VITRINE_GPU_MEMORY(X)
#undef X
    return all && f.init(0) == 0 ? &f : nullptr;
  }();
  return kFound;
}

namespace {

uint64_t number(const void* address) {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address));
}

}  // namespace

Status GpuMemory::checked(int code, const char* what) const {
  if (code == 0) return {};
  return Error{std::string("the GPU's driver ") + what + ": CUDA error " + std::to_string(code), "", ""};
}

Result<std::shared_ptr<GpuMemory>> GpuMemory::of(int device) {
  if (!functions())
    return Error{"the package is for a GPU, and no CUDA driver was found", "Run it where there is one.", ""};
  auto out = std::make_shared<GpuMemory>();
  int handle = 0;
  const Functions& f = *functions();
  if (f.device(&handle, device) != 0 || f.retain(&out->context_, handle) != 0 ||
      f.make_current(out->context_) != 0)
    return Error{"the driver has no GPU " + std::to_string(device), "", ""};
  return out;
}

Result<std::shared_ptr<void>> GpuMemory::allocate(size_t bytes) const {
  uint64_t at = 0;
  if (Status failed = checked(functions()->make_current(context_), "has lost its context")) return *failed;
  if (Status failed = checked(functions()->allocate(&at, bytes ? bytes : 1), "has no memory left"))
    return *failed;
  return std::shared_ptr<void>(reinterpret_cast<void*>(static_cast<uintptr_t>(at)),
                               [](void* memory) { functions()->release(number(memory)); });
}

Status GpuMemory::upload(void* to, const void* from, size_t bytes) const {
  return bytes ? checked(functions()->upload(number(to), from, bytes), "did not take a tensor") : Status();
}

Status GpuMemory::download(void* to, const void* from, size_t bytes) const {
  return bytes ? checked(functions()->download(to, number(from), bytes), "did not give a result") : Status();
}

Status GpuMemory::wait() const {
  return checked(functions()->wait(), "stopped");
}

}  // namespace vitrine::package
