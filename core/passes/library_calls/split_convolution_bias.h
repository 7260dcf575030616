// On a GPU PyTorch adds the bias of a convolution by a kernel of its own behind cuDNN's: it leaves the
// convolution where a loop follows, which then adds it. A convolution of each channel by itself stays, for
// PyTorch's kernel adds the bias before it rounds. Examples: tests/golden/passes/split_convolution_bias.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr split_convolution_bias(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
