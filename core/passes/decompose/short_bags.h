// Sums of a few rows of an embedding, on a GPU: a lookup for each place in a bag, one added to the other, as
// eager adds them. A lookup fuses with what follows; a sum over rows that are gathered does not. Runs behind
// the derivative, whose gradient is that of one embedding. Examples: tests/golden/passes/short_bags.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr short_bags(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
