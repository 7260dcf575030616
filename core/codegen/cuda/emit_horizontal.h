// A kernel for a GPU that computes the same over many tensors (core/codegen/schedule/horizontal.h). Pointers
// and sizes come in one argument, a struct by value: nothing is copied to the GPU before the launch.
#pragma once

#include "core/codegen/cuda/emit.h"

namespace vitrine::codegen::cuda {

// How many members one launch takes: what fits into a kernel's arguments.
size_t most_horizontal(const Schedule& schedule);

// members: congruent, in the order of the arguments.
Kernel emit_horizontal(const fusion::LoopProgram& program, const fusion::Unit& unit,
                       const std::vector<Schedule>& members);

}  // namespace vitrine::codegen::cuda
