// A program as bytes, and back: what is kept of a compilation for later processes.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/codegen/schedule/program.h"

namespace vitrine::codegen {

// Without what only a session shows of it (lines, nodes and spaces of kernels), and without its counts of
// writes, which are its caller's. Errors: what cannot be kept.
Result<std::string> packed(const Program& program);

// Errors: bytes that packed() does not give, or a program of which a part names what is not there.
Result<Program> unpacked_program(std::string_view bytes);

}  // namespace vitrine::codegen
