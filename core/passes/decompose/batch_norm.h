// Batch norm in training: statistics of the batch, the normalised tensor, and the running statistics as
// copies into their memory, which functionalise moves behind everything else. Examples:
// tests/golden/passes/batch_norm.txt, plain_batch_norm.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr batch_norm(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

// cuDNN's as PyTorch's own, whose derivative needs no reserve that cuDNN alone knows, and that derivative if
// it is there.
ir::GraphPtr plain_batch_norm(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
