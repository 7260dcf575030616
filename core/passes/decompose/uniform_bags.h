// Bags of embeddings that all have as many indices, on a GPU: the rows are looked up and summed, which fuses
// with what follows, and each gradient is that of an embedding. Whoever gives a matrix of indices has such
// bags. Examples: tests/golden/passes/uniform_bags.txt.
#pragma once

#include <memory>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr uniform_bags(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);
// Where a derivative follows: of at most 32768 indices, whose gradients a kernel of ours sums. Of more the
// rows' gradients would be written out, one for each index.
ir::GraphPtr uniform_bags_to_derive(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);
// Whether there may be any.
bool has_bags(const std::vector<ir::Node>& nodes);

}  // namespace vitrine::passes
