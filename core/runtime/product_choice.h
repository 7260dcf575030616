// Who computes each matrix product of a program, found by running both on operands of its types; of a GPU's
// program also which algorithm a library takes and which shape a kernel has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/codegen/products.h"
#include "core/runtime/compile.h"
#include "core/runtime/kernel_stage.h"

namespace vitrine::runtime {

// What the program was made for.
struct Processor {
  int lanes = 0, threads = 1;
  bool any_size = false;  // codegen::ProductOptions
};

// program's library steps offer kernels (Step::instead), whose code is in `kernels`. Equal products are
// measured once, a few calls each; of a large one its like. The GIL must be held. A product that cannot be
// measured stays PyTorch's, a kernel keeps its own shape; `dropped` gets a sentence for each that memory did
// not suffice for.
codegen::ProductChoices choose_products(const codegen::Program& program,
                                        const std::vector<CompiledKernel>& kernels,
                                        const CompileOptions& options, const Processor& processor,
                                        std::vector<std::string>& dropped);

// The code of `wanted`, in order, from kernels that were compiled for `offered`: same text, same code.
// Nothing if one was not offered.
std::optional<std::vector<CompiledKernel>> kernels_of(const std::vector<codegen::Kernel>& wanted,
                                                      const std::vector<codegen::Kernel>& offered,
                                                      const std::vector<CompiledKernel>& compiled);

}  // namespace vitrine::runtime
