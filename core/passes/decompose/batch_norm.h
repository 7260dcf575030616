// Batch norm in training, on the CPU: statistics of the batch, the normalised tensor, and the running
// statistics as copies into their memory, which functionalise moves behind everything else.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr batch_norm(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
