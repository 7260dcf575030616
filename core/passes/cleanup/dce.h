// Operators that nobody uses go away, unless they write, draw random numbers or may raise an error.
// Examples: tests/golden/passes/dce.txt.
#pragma once

#include <memory>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::passes {

// By position: whether the node stays.
std::vector<bool> live_nodes(const ir::Graph& graph);

ir::GraphPtr dce(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
