// The part of a program's kernels that runs on a GPU: NVRTC for what the cache lacks, several at a time, and
// the driver to load them.
#pragma once

#include "core/runtime/kernel_stage.h"

namespace vitrine::runtime::cuda {

// kernels: those with a grid. device: where they will run; its architecture is asked, unless options.target
// names one: then kernels are compiled and not loaded. `cancelled` is polled between kernels.
KernelStage compile_kernels(const std::vector<const codegen::Kernel*>& kernels, int device,
                            const CompileOptions& options, bool with_texts,
                            const std::function<bool()>& cancelled);

}  // namespace vitrine::runtime::cuda
