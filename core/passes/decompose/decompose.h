// Composite operators are written out as pointwise operators and reductions. Values are as accurate as
// eager's: f16 and bf16 compute in f32 between the first and the last step. Examples:
// tests/golden/passes/decompose.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr decompose(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

// Softmax alone. Its values are then cheap to compute again from its operand and two numbers a row, which is
// what backward keeps of them where that is less.
ir::GraphPtr decompose_softmax(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
