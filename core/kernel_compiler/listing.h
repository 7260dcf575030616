// LLVM's texts made readable: debug directives go, and which source line made which line of text stays
// beside.
#pragma once

#include <string>

#include "core/kernel_compiler/protocol/protocol.h"

namespace vitrine::kernel_compiler {

Listing list_ir(const std::string& printed);        // a module printed with its debug locations
Listing list_assembly(const std::string& printed);  // with .loc directives
int64_t count_spills(const std::string& assembly);  // of LLVM's verbose assembly

}  // namespace vitrine::kernel_compiler
