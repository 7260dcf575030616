// Machine code for the kernels of a program: from the cache where it is there, else all at once through the
// kernel compilers.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/codegen/schedule/program.h"
#include "core/runtime/compile.h"
#include "core/runtime/cuda/nvrtc.h"
#include "core/runtime/kernels/kernel_service.h"
#include "core/runtime/kernels/object_cache.h"
#include "core/runtime/problem.h"

namespace vitrine::runtime {

struct CompiledKernel {
  LoadedKernel loaded;
  bool cached = false;
  bool failed = false;                                // it has no code; a problem says why
  int64_t start_ns = 0, wall_ns = 0;                  // CLOCK_MONOTONIC; 0 wall when it came from the cache
  int64_t front_ns = 0, codegen_ns = 0, link_ns = 0;  // inside the helper
  std::string arch;                                   // of a GPU's kernel: "sm_90"
  cuda::Report report;                                // of a GPU's kernel, if texts were asked for
  kernel_compiler::Texts texts;  // if asked for; of a GPU's kernel PTX as IR and SASS as assembly
};

struct KernelStage {
  void add_work(const CompiledKernel& kernel) {
    front_ns += kernel.front_ns;
    back_ns += kernel.codegen_ns + kernel.link_ns;
  }
  std::vector<CompiledKernel> kernels;  // by position of program.kernels
  std::vector<Problem> problems;        // kernels that have no code, and what is wrong with the machine
  bool cancelled = false;
  int64_t start_ns = 0, duration_ns = 0;
  // Of the compilers, candidates that were not chosen among them; and how many compilers were at work at
  // once.
  int64_t front_ns = 0, back_ns = 0, workers = 0;
  bool ok() const {
    return !cancelled && std::none_of(kernels.begin(), kernels.end(), [](const auto& k) { return k.failed; });
  }
};

// with_texts: IR, assembly and remarks too. `cancelled` (may be empty) is polled; compilers at work are
// ended.
KernelStage compile_kernels(const std::vector<codegen::Kernel>& kernels, const CompileOptions& options,
                            bool with_texts, const std::function<bool()>& cancelled);

// Completes the kernels' rows, which the recorder has from code generation: IR, assembly, remarks, times; and
// the stages "ir" and "assembly".
void record_kernels(const codegen::Program& program, const KernelStage& stage, const std::string& isa,
                    ir::Recorder& recorder);

}  // namespace vitrine::runtime
