// A large product's like: the same operator and kernels where the longest extent is cut, so that all who
// could compute it are compared in milliseconds. A language model's last product takes half a second on two
// cores; time is in proportion to its extents, and who is faster does not depend on the longest.
#pragma once

#include <optional>
#include <vector>

#include "core/codegen/products.h"
#include "core/runtime/kernel_stage.h"

namespace vitrine::runtime {

struct SmallProduct {
  codegen::Program program;  // one step, with the same alternatives in the same order
  std::vector<CompiledKernel> kernels;
  double part = 1;  // its multiplications among the large one's
};

// how: what the program's products were made with, but for the choices. step: of a library, on the CPU.
// Nothing: it is small already, no plain product of matrices, or its kernels are not those of the smaller
// one.
std::optional<SmallProduct> small_product(const codegen::Program& program, const codegen::Step& step,
                                          const std::vector<CompiledKernel>& kernels, int lanes,
                                          const codegen::ProductOptions& how);

}  // namespace vitrine::runtime
