// SASS of a cubin, through nvdisasm, where there is one: a program of CUDA's toolkit, also a Python package.
#pragma once

#include <string>

#include "core/base/result.h"

namespace vitrine::runtime::cuda {

// What `nvdisasm -gi -c` prints. program: its path. Blocks until it has ended, for at most half a minute. Any
// thread. Errors: it is missing, or its own words.
Result<std::string> disassemble(const std::string& program, const std::string& cubin);

}  // namespace vitrine::runtime::cuda
