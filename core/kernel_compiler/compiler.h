// Clang and LLVM behind one function: C++ text in, an object file and what was learnt on the way out.
#pragma once

#include <string>

#include "core/kernel_compiler/protocol/protocol.h"

namespace vitrine::kernel_compiler {

std::string llvm_version();  // "19.1.7"
std::string host_cpu();      // LLVM's name of this machine's CPU

// Fills everything of `response` but the link; `object` receives the ELF object. false: response.error and
// response.diagnostics say why.
bool compile_object(const Request& request, Response& response, std::string& object);

}  // namespace vitrine::kernel_compiler
