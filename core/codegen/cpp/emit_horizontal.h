// A kernel for a CPU that computes the same over many tensors (core/codegen/schedule/horizontal.h).
#pragma once

#include "core/codegen/cpp/emit.h"

namespace vitrine::codegen::cpp {

// members: congruent, in the order of the arguments.
Kernel emit_horizontal(const fusion::LoopProgram& program, const fusion::Unit& unit,
                       const std::vector<Schedule>& members, const Target& target);

}  // namespace vitrine::codegen::cpp
