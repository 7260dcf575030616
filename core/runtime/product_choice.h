// Who computes each matrix product of a program, found by running both on operands of its types.
#pragma once

#include <vector>

#include "core/codegen/products.h"
#include "core/runtime/compile.h"
#include "core/runtime/kernel_stage.h"

namespace vitrine::runtime {

// program's library steps offer kernels (Step::instead), whose code is in `kernels`. Equal products are
// measured once, a few calls each. The GIL must be held. A product that cannot be measured stays PyTorch's.
codegen::ProductChoices choose_products(const codegen::Program& program,
                                        const std::vector<CompiledKernel>& kernels,
                                        const CompileOptions& options);

// The code of `wanted`, in order, from kernels that were compiled for `offered`: same text, same code.
std::vector<CompiledKernel> kernels_of(const std::vector<codegen::Kernel>& wanted,
                                       const std::vector<codegen::Kernel>& offered,
                                       const std::vector<CompiledKernel>& compiled);

}  // namespace vitrine::runtime
