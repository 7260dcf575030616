// Kernels that reduce rows and sum over all of them in one pass over memory: the gradients of a layer norm.
// Groups of threads go through the rows; each thread keeps a sum for each of its columns. What the groups of
// a block have is added up in shared memory, and the second launch adds up the blocks', in a fixed order.
#pragma once

#include "core/codegen/cuda/emit.h"

namespace vitrine::codegen::cuda {

// schedule.both_ways(); launch: which of its launches().
Kernel emit_both_ways(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                      const LaunchShape& shape, size_t launch, SizeMemory* sizes);

}  // namespace vitrine::codegen::cuda
