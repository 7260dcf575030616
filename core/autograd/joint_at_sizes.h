// A joint graph of expressions for sizes that are known.
#pragma once

#include <span>

#include "core/autograd/joint.h"
#include "core/ir/sym.h"

namespace vitrine::torch_api {

// values: by symbol of the table that its expressions are of. Errors: an expression has no value there; it
// has views that are made again behind it.
Result<std::shared_ptr<const Joint>> at_sizes(const Joint& joint, const ir::SymbolTable& table,
                                              std::span<const int64_t> values);

}  // namespace vitrine::torch_api
