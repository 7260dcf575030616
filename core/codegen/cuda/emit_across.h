// Kernels whose threads beside each other take rows beside each other: sums of columns, statistics of
// channels that lie side by side. The threads of a block stand in columns: those of a column share its rows,
// each adds up every so many elements, and their sums meet in shared memory, in a fixed order.
#pragma once

#include "core/codegen/cuda/emit.h"

namespace vitrine::codegen::cuda {

// schedule.across; launch: which of its launches().
Kernel emit_across(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                   const LaunchShape& shape, size_t launch, SizeMemory* sizes);

}  // namespace vitrine::codegen::cuda
