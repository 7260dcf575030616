// A mask of truth values becomes the numbers that attention adds: 0 where it is true, -inf elsewhere.
// PyTorch's attention on a GPU makes them in every call (at::where on two filled tensors: three launches a
// layer); here a kernel of ours makes them once for all layers. Which attention kernel runs depends on the
// mask's last stride alone, which stays 1. In f16 and bf16 that may be cuDNN's, for which PyTorch takes
// -65504 instead of -inf: a row that sees nothing then has another result, so these masks stay. Examples:
// tests/golden/passes/attention_mask.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr attention_mask(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
