// A linear layer and the activation that alone reads it become one library call on a GPU: cuBLASLt computes
// both in one kernel, and the sums are not rounded in between.
// Examples: tests/golden/passes/linear_activation.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr linear_activation(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
