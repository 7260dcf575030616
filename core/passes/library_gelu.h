// Where PyTorch leaves gelu to oneDNN, whose kernels of AVX-512 give NaN for infinity, and infinity for half
// the largest number, gelu is written out so that it does as well. Examples:
// tests/golden/passes/library_gelu.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr library_gelu(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
