// The same operator on the same arguments is computed once. Values that leave the graph or are written stay
// apart, for they must not share memory.
// Examples: tests/golden/passes/cse.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr cse(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
