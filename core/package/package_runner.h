// Runs a package: no Python, and no PyTorch unless the program calls it. Making one loads the package's
// machine code, which is an act of trust in whoever wrote it. One call at a time.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/codegen/instantiate.h"
#include "core/package/gpu_memory.h"
#include "core/package/host_tensor.h"
#include "core/package/package.h"
#include "core/package/threads.h"
#include "core/package/torch_call.h"
#include "core/runtime/kernels/object_cache.h"

namespace vitrine::package {

struct RunOptions {
  int threads = 0;    // 0: one a core that this process may use
  std::string torch;  // folder of PyTorch's libraries; "": where the loader looks
};

class PackageRunner {
 public:
  // package: must outlive it. Errors: its code is for another processor, or cannot be loaded; PyTorch is
  // called and is not there.
  static Result<std::unique_ptr<PackageRunner>> make(const Package& package, const RunOptions& options);
  ~PackageRunner();
  PackageRunner(const PackageRunner&) = delete;
  PackageRunner& operator=(const PackageRunner&) = delete;

  // given: by name, of the arguments that are no weights. The results, in the host's memory. Errors: in what
  // they are not what the model takes.
  Result<std::vector<HostTensor>> run(std::span<const HostTensor> given);
  bool calls_torch() const { return torch_ != nullptr; }

 private:
  struct Held {  // codegen::Kernel::held
    std::unique_ptr<float, void (*)(void*)> values{nullptr, nullptr};
    bool ready = false;
  };
  // Memory of a call, which serves the next one if nobody holds it by then.
  struct Block {
    size_t bytes = 0;
    std::shared_ptr<void> memory;
    bool used = true;  // by the call that runs
  };
  // A buffer in a call: where it is, and what keeps it there.
  struct Place {
    void* data = nullptr;
    std::shared_ptr<void> memory;
  };

  PackageRunner(const Package& package, const RunOptions& options);
  Status prepare(const RunOptions& options);
  Status load_kernels();
  Status load_weights();
  Status prepare_torch(const RunOptions& options);
  Status set_sizes(std::span<const HostTensor* const> given);
  Status check_types(std::span<const HostTensor* const> given) const;
  Status plan_calls();

  Status run_steps(std::span<const HostTensor* const> given);
  Status place_given(std::span<const HostTensor* const> given);
  Status place_arena();
  Status run_step(size_t number);
  Status run_kernel(size_t number);
  bool give_kept(size_t number);  // false: the step is to run
  void keep(size_t number);
  Status launch(const codegen::Step& step, const codegen::Kernel& kernel);
  Status run_torch(const codegen::Step& step, const TorchCall& call);
  Status take_made(int32_t buffer, AtenTensor made);
  Result<std::vector<HostTensor>> collect(std::span<const HostTensor* const> given);

  const ir::TensorType& type(int32_t b) const { return program_->buffers[static_cast<size_t>(b)].type; }
  void* pointer(int32_t b);  // nullptr: it has no memory
  Status own_memory(int32_t b);
  Result<std::shared_ptr<void>> allocate(ir::Device device, size_t bytes);
  Result<std::shared_ptr<void>> laid_out(const ir::TensorType& type, const void* rows);
  Result<AtenTensor> tensor(int32_t b);
  int32_t buffer_of(ir::Ref value) const;
  int32_t root(int32_t buffer) const;  // of which it is a view, or itself
  void forget_unused_blocks();

  const Package& package_;
  codegen::Instances sized_;
  const codegen::Program* program_;  // with the numbers of the sizes of the call
  std::vector<int64_t> values_;      // by symbol
  std::vector<runtime::LoadedKernel> kernels_;
  std::map<size_t, Held> held_;                                // by step
  std::map<size_t, std::vector<std::shared_ptr<void>>> kept_;  // by step of weights: what it made, by `outs`
  std::map<ir::Ref, int32_t> value_buffer_;
  std::vector<Place> weights_;                          // by argument
  std::vector<Place> places_;                           // by buffer, of a call
  std::map<size_t, std::unique_ptr<TorchCall>> calls_;  // by step
  std::vector<Block> blocks_;                           // of the host's memory
  std::shared_ptr<void> arena_, host_arena_, scratch_;
  size_t arena_bytes_ = 0, host_arena_bytes_ = 0, scratch_bytes_ = 0;
  std::vector<void*> arguments_;  // of a kernel
  const TorchFunctions* torch_ = nullptr;
  std::map<int, std::shared_ptr<GpuMemory>> gpus_;
  Threads threads_;
};

}  // namespace vitrine::package
