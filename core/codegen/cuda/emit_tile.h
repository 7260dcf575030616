// Element-wise kernels that read along another dim than they write: tiles, turned in shared memory.
#pragma once

#include "core/codegen/cuda/emit.h"

namespace vitrine::codegen::cuda {

// As emit_kernel; shape.turned is a dim.
Kernel emit_tile(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                 const LaunchShape& shape, SizeMemory* sizes);

}  // namespace vitrine::codegen::cuda
