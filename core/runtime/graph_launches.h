// The kernels of our own in a CUDA Graph, and how their pointers follow a call's tensors: a recorded launch
// whose argument is an input or a result of the plan gets the address that the tensor has in this call
// (cuGraphExecKernelNodeSetParams), so that nothing is copied for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/codegen/schedule/program.h"
#include "core/runtime/cuda/driver.h"
#include "core/torch_api/cuda/cuda_random.h"

namespace vitrine::runtime {

// An argument of a launch that lies in a tensor of the call, or is a number that the host has.
struct GraphUse {
  enum class Of : uint8_t { input, result, number };
  size_t argument;
  Of of;
  size_t index;   // which input, result or number of the plan
  int64_t bytes;  // from the tensor's first element
};

class GraphLaunches {
 public:
  // draws: the last two arguments are the seed and the offset of a generator. packed: all are one.
  enum class Form : uint8_t { plain, draws, packed };
  // Just launched on `stream`, which is being recorded; arguments: pointers, as the kernel got them; of
  // draws, the offset is from the call's begin.
  void add(const cuda::GpuFunction& function, const codegen::Grid& grid, const std::vector<GraphUse>& uses,
           std::span<void* const> arguments, Form form, void* stream);
  // Whether the place of every launch in the graph is known.
  bool complete() const { return complete_; }
  // Gives the launches of an instantiated graph these tensors, these numbers of the host (each in the bytes
  // of a pointer) and this state of the generator. "" or what the driver says.
  std::string point_at(void* executable, const std::vector<void*>& inputs, const std::vector<void*>& results,
                       const std::vector<void*>& numbers, const torch_api::CudaGenerator::State& draws);
  size_t size() const { return launches_.size(); }

 private:
  struct Launch {
    const cuda::GpuFunction* function;
    codegen::Grid grid;
    void* node;
    std::vector<void*> arguments;
    std::vector<GraphUse> uses;
    Form form;
    uint64_t from;  // draws: its first number, from the call's
  };
  std::vector<Launch> launches_;  // those with uses, and those that draw
  bool complete_ = true;
};

}  // namespace vitrine::runtime
