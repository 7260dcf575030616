// Matrix products on a GPU whose rows do not begin at multiples of 16 bytes (a vocabulary of 50257 words) run
// on slow kernels of the matrix units. A large one gets its operands copied with a few zeros at the end of
// each row, and loses the rows and columns again that come from them.
// Examples: tests/golden/passes/pad_half_products.txt, pad_f32_products.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr pad_half_products(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);
// Only where factors may be rounded to TF32: else f32 is not for the matrix units.
ir::GraphPtr pad_f32_products(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
