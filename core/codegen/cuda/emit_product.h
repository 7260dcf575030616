// Kernels of products of few rows, by tensor cores. A block computes 16 columns: its warps share the rows of
// the matrix, each reads runs of eight numbers as they lie, and a last step adds up what the warps have. That
// a lane's eight numbers are neighbours in memory, and not those which the instruction's layout names, makes
// no difference to a sum as long as both operands are read alike. What follows is computed an element a
// thread.
#pragma once

#include "core/codegen/cuda/emit.h"
#include "core/codegen/cuda/product.h"

namespace vitrine::codegen::cuda {

// few_rows(schedule) is `product`.
Kernel emit_product(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                    const FewRows& product, const LaunchShape& shape, SizeMemory* sizes);

}  // namespace vitrine::codegen::cuda
