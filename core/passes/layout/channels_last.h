// Convolutions on a GPU, and what lies between them, computed with the channels innermost: the layout of the
// matrix units' kernels, around which cuDNN else transposes on the way in and out of each convolution. Values
// that leave the graph keep eager's strides, and so does whatever would show the difference.
// Examples: tests/golden/passes/channels_last.txt, half_channels_last.txt, depthwise_channels_last.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

// Of f32: only where factors may be rounded to TF32, else the matrix units take no part.
ir::GraphPtr channels_last(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);
ir::GraphPtr half_channels_last(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);
// Likewise, and the convolutions of each channel by itself between them. Not where a backward pass follows:
// their gradients in that layout are slow.
ir::GraphPtr depthwise_channels_last(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
