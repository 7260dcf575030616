// A CUDA Graph of what this thread launches, recorded through PyTorch's own class: its allocator then gives
// memory that stays where it is for as long as the graph lives, and its libraries know that they are
// recorded. The GIL must be held.
#pragma once

#include <memory>

struct _object;

namespace vitrine::torch_api {

class CudaGraph {
 public:
  // From here to end() what this thread launches on the current GPU is recorded and not run. nullptr: a
  // Python error is set.
  static std::unique_ptr<CudaGraph> begin();
  // false: a Python error is set, and nothing was recorded. The stream is that of before begin() either way.
  // failed: what was launched did not work out, so that nobody wants to know what PyTorch says of the rest.
  bool end(bool failed = false);
  // The instantiated graph, a cudaGraphExec_t, whose launches may be given other arguments; nullptr: this
  // PyTorch does not show it.
  void* executable() const { return executable_; }
  // Runs it on the current stream. false: a Python error is set.
  bool replay();
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

 private:
  CudaGraph() = default;
  bool show_executable();
  void forget_recording();
  // All owned.
  _object *graph_ = nullptr, *recording_ = nullptr, *stream_before_ = nullptr;
  void* executable_ = nullptr;
};

}  // namespace vitrine::torch_api
