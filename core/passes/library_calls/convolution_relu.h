// A convolution with its channels innermost, the batch norm of inference behind it, a residual and relu
// become one call of cuDNN: the norm's factor goes into the weight, at each call anew, for both are small
// beside the image. f32 alone: a weight of half precision would be rounded once more. Examples:
// tests/golden/passes/convolution_relu.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr convolution_relu(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
