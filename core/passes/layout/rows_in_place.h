// A gradient that an embedding's is added to: the rows that its indices name are added to it, and no others.
// (A model whose first and last layer share their weight adds two gradients of it, one of them mostly zeros.)
// On the CPU: a GPU's kernels do the same when loops are built. Examples:
// tests/golden/passes/rows_in_place.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr rows_in_place(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
