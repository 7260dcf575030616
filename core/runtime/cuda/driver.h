// Machine code on a GPU, through the CUDA driver, which is opened at run time. PyTorch's context of the
// device is used, and its current stream. What is current on a thread is left as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/codegen/schedule/tensor_map.h"

namespace vitrine::runtime::cuda {

// A loaded kernel; keeps its module.
class GpuFunction {
 public:
  GpuFunction(void* function, void* module, void* context, unsigned shared, bool follows,
              std::vector<codegen::TensorMap> maps)
      : function_(function),
        module_(module),
        context_(context),
        shared_(shared),
        follows_(follows),
        maps_(std::move(maps)) {}
  ~GpuFunction();
  GpuFunction(const GpuFunction&) = delete;
  GpuFunction& operator=(const GpuFunction&) = delete;
  // arguments: addresses of the pointers that the kernel takes, also where it takes a map of what is there.
  // Asynchronous on `stream`. "" or what the driver says.
  std::string launch(int64_t blocks, int threads, void* stream, void** arguments) const;
  // Other arguments for a launch that was recorded: `node` of the graph that `executable` is made of.
  std::string set_recorded(void* executable, void* node, int64_t blocks, int threads, void** arguments) const;

 private:
  std::string launch_early(int64_t blocks, int threads, void* stream, void** arguments) const;
  void *function_, *module_, *context_;
  const unsigned shared_;  // bytes of a block's memory that a launch asks for
  const bool follows_;     // it waits itself for what was launched before
  const std::vector<codegen::TensorMap> maps_;
};

// shared: bytes of a block's shared memory besides what the code has. follows: it waits for what was launched
// before it, and may start earlier. function: its name in the machine code. maps: as Kernel has them. Errors:
// no driver, or the driver's own words (a cubin for another architecture, more shared memory than there is).
Result<std::shared_ptr<GpuFunction>> load_kernel(const std::string& cubin, const std::string& function,
                                                 int device, int64_t shared, bool follows,
                                                 const std::vector<codegen::TensorMap>& maps = {});
// "sm_90" of a device. Errors: no driver, no such device.
Result<std::string> architecture(int device);
// "NVIDIA H200 sm_90 driver 13000": what the times of kernels depend on. Errors: as above.
Result<std::string> identity(int device);
// Work for the stream is being recorded into a graph: it does not run, and nothing may wait for it.
bool is_capturing(void* stream);

// Times of work on a stream of a GPU, by its own clock.
class Timer {
 public:
  explicit Timer(int device);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  // Nanoseconds from when what was asked for before is done; waits. 0: `work` returned false, or the driver
  // refused.
  int64_t time(void* stream, const std::function<bool()>& work);

 private:
  void *begin_ = nullptr, *end_ = nullptr;
};

// The node of the graph being recorded that was the last launch on `stream`; nullptr: not known.
void* recorded_launch(void* stream);

}  // namespace vitrine::runtime::cuda
