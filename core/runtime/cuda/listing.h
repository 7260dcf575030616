// PTX and SASS as people read them, with the lines of the kernel's text that each instruction comes from: the
// compilers' own notes about lines are taken out of the listing and become a table.
#pragma once

#include <string>
#include <vector>

#include "core/kernel_compiler/protocol/protocol.h"

namespace vitrine::runtime::cuda {

using kernel_compiler::Listing;

// body[n]: line n of the kernel's text (from 1) computes something. An instruction that was inlined comes
// from the innermost such line of its calls: a sum's shuffle belongs to the sum, not to the function that
// folds.
Listing read_ptx(const std::string& ptx, const std::vector<bool>& body);
// sass: what `nvdisasm -gi` prints of a cubin with line information.
Listing read_sass(const std::string& sass, const std::vector<bool>& body);

}  // namespace vitrine::runtime::cuda
