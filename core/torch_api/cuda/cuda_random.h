// PyTorch's generator of random numbers of a GPU: its seed, and the offset that its kernels' draws move on.
// How they lay their numbers out over elements is found by asking them. The GIL must be held.
#pragma once

#include <cstdint>
#include <memory>

struct _object;

namespace vitrine::torch_api {

class CudaGenerator {
 public:
  // The default generator of a GPU. nullptr: a Python error is set.
  static std::unique_ptr<CudaGenerator> of(int gpu);
  ~CudaGenerator();
  CudaGenerator(const CudaGenerator&) = delete;
  CudaGenerator& operator=(const CudaGenerator&) = delete;

  struct State {
    uint64_t seed = 0, offset = 0;
  };
  // What it is now; it goes on by `advance`, a multiple of four. false: a Python error is set (while a stream
  // is recorded into a graph it cannot be asked).
  bool take(int64_t advance, State& state);
  bool set_offset(uint64_t offset);  // false: a Python error is set
  // It goes on by `advance`, a multiple of four, also while a stream is recorded: a small kernel of PyTorch's
  // draws so many numbers. false: a Python error is set.
  bool skip(int64_t advance);

 private:
  CudaGenerator() = default;
  _object* generator_ = nullptr;  // owned
  int gpu_ = 0;
};

// How the kernels of this PyTorch draw on a GPU, found by drawing and comparing, once a process and GPU; the
// generator is left as it was.
struct CudaRng {
  int64_t blocks = 0;              // of 256 threads, at most
  int together[4] = {0, 0, 0, 0};  // dropout's neighbours, by log2 of an element's bytes; 0: in no known way
  bool uniform = false;            // rand() draws four numbers a thread and turn
  bool skips = false;              // CudaGenerator::skip() goes on by as many as it says
};
CudaRng cuda_rng(int gpu);

}  // namespace vitrine::torch_api
