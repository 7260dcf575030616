#include "core/torch_api/errors_aside.h"

#include <dlfcn.h>

#include <atomic>

#include "core/torch_api/api.h"

namespace vitrine::torch_api {

namespace {

constexpr int kFatal = 3;  // what PyTorch's log writes still, while errors are left out

// From which severity on PyTorch's log writes; nullptr: errors are told without it, or it is not exported.
int* least_severity() {
  static int* const level = [] {
    void* lib = api().symbols.error_text ? nullptr : dlopen("libc10.so", RTLD_NOLOAD | RTLD_LAZY);
    return lib ? static_cast<int*>(dlsym(lib, "FLAGS_caffe2_log_level")) : nullptr;
  }();
  return level;
}

std::atomic<int> lives = 0, before = 0;

}  // namespace

ErrorsAside::ErrorsAside() {
  int* level = least_severity();
  if (!level || lives++ > 0) return;
  before = *level;
  if (before < kFatal) *level = kFatal;
}
ErrorsAside::~ErrorsAside() {
  int* level = least_severity();
  if (level && --lives == 0) *level = before;
}

}  // namespace vitrine::torch_api
