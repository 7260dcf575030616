// Products of 16-bit numbers on a CPU without instructions for them: PyTorch's library has no kernel there,
// and what stands in for it takes 5 to 40 times as long as the product of f32. They are computed in f32 and
// rounded once, as PyTorch rounds them. One pass a type: which of them run is asked of the CPU. Examples:
// tests/golden/passes/wide_bf16_products.txt, wide_f16_products.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr wide_bf16_products(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);
ir::GraphPtr wide_f16_products(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
