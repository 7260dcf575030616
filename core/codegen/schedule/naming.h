// What a kernel is called: the operators that it computes.
#pragma once

#include <string>

#include "core/fusion/fuse.h"

namespace vitrine::codegen {

// "add_gelu"; after three operators, "_etc".
std::string kernel_name(const fusion::LoopProgram& program, const fusion::Unit& unit);

}  // namespace vitrine::codegen
