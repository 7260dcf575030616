// Memory of a GPU through the CUDA driver, which is opened when the first package needs it. The device's
// primary context is used, as PyTorch uses it.
#pragma once

#include <cstddef>
#include <memory>

#include "core/base/result.h"

namespace vitrine::package {

class GpuMemory {
 public:
  // Errors: no driver, no such device.
  static Result<std::shared_ptr<GpuMemory>> of(int device);

  // Errors: the driver's number of what went wrong.
  Result<std::shared_ptr<void>> allocate(size_t bytes) const;
  Status upload(void* to, const void* from, size_t bytes) const;
  Status download(void* to, const void* from, size_t bytes) const;
  Status wait() const;  // for all that was launched

 private:
  struct Functions;
  static const Functions* functions();
  Status checked(int code, const char* what) const;
  void* context_ = nullptr;
};

}  // namespace vitrine::package
