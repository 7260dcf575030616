// The bias leaves the matrix product where a pointwise operator follows, so that it fuses with it.
// Examples: tests/golden/passes/split_addmm_bias.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr split_addmm_bias(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
