// Kernels over few long rows, each shared by several blocks: one phase a launch, which begins by adding up
// what the blocks of the launch before left.
#pragma once

#include "core/codegen/cuda/emit.h"

namespace vitrine::codegen::cuda {

// schedule.parts > 1, not across, every load affine or once a row; launch: which of its launches().
Kernel emit_part(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                 const LaunchShape& shape, size_t launch, SizeMemory* sizes);

}  // namespace vitrine::codegen::cuda
