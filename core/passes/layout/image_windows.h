// Means of windows and repeated neighbours of images on a GPU, written out as loops once the images lie as
// they will: PyTorch's kernels for them are far from what memory gives where channels lie innermost.
// Examples: tests/golden/passes/image_windows.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr image_windows(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
