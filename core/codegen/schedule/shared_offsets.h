// Kernels of one program that compute the same at other places of a tensor, as the steps of a loop over its
// rows do, are one text: where they begin to read is an argument. Few such kernels keep their numbers, which
// the C++ compiler makes the best of.
#pragma once

#include <string>

#include "core/codegen/schedule/program.h"

namespace vitrine::codegen {

// A number of a text that share_offsets() makes a number, or the name of an argument.
std::string mark_offset(int64_t offset);

// Resolves all marks of a program's kernels, and hands on in its steps what became an argument.
void share_offsets(Program& program);

}  // namespace vitrine::codegen
