// Machine code on a GPU, through the CUDA driver, which is opened at run time. PyTorch's context of the
// device is used, and its current stream.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"

namespace vitrine::runtime::cuda {

// A loaded kernel; keeps its module.
class Function {
 public:
  Function(void* function, void* module) : function_(function), module_(module) {}
  ~Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  // arguments: addresses of the pointers that the kernel takes. Asynchronous on `stream`. "" or what the
  // driver says.
  std::string launch(int64_t blocks, int threads, void* stream, void** arguments) const;
  // Other arguments for a launch that was recorded: `node` of the graph that `executable` is made of.
  std::string set_recorded(void* executable, void* node, int64_t blocks, int threads, void** arguments) const;

 private:
  void *function_, *module_;
};

// Errors: no driver, or the driver's own words (a cubin for another architecture).
Result<std::shared_ptr<Function>> load_kernel(const std::string& cubin, int device);
// "sm_90" of a device. Errors: no driver, no such device.
Result<std::string> architecture(int device);

// The node of the graph being recorded that was the last launch on `stream`; nullptr: not known.
void* recorded_launch(void* stream);

}  // namespace vitrine::runtime::cuda
