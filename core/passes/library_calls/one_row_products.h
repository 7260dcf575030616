// A product of one row on a GPU reads each element of its matrix once, as fast as memory gives it. Written
// out as sums it is a kernel of ours, into which fuses what comes before and after. So is a product of one
// column, and one whose sums have one term. On a CPU libraries are as fast only where rows of f32 are long
// and computed of nothing narrower. Of a few rows the same holds where tensor cores multiply them
// (core/codegen/cuda/product.h). Examples: tests/golden/passes/one_row_products.txt, few_row_products.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr one_row_products(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);
// Of 2 to 16 rows of 16-bit numbers.
ir::GraphPtr few_row_products(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
