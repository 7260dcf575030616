// Sums of what lies transposed (a convolution's result with its channels last in sizes only) and rows as they
// usually lie take the transposed layout in eager, and hand it on: every norm over the last dim of such a
// residual reads memory across it. Between its first element-wise operator and the last one, such a value
// lies with its rows innermost instead. Only on a GPU, and only where all that reads it follows, and nothing
// that leaves the graph would lie otherwise than eager's.
// Examples: tests/golden/passes/rows_innermost.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr rows_innermost(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
