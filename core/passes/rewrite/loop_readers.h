// Who reads a value: whether what is added to it or taken off it would be computed with the reader.
#pragma once

#include <vector>

#include "core/ir/graph.h"

namespace vitrine::passes {

// Whether a pointwise operator or a reduction reads the node's value, directly or through views. users:
// Graph::users().
bool feeds_a_loop(const ir::Graph& graph, const std::vector<std::vector<ir::NodeId>>& users,
                  const ir::Node& node);

}  // namespace vitrine::passes
