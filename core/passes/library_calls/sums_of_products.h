// The gradient of a weight that is used many times, in each step of a loop, is a sum of products of a few
// rows each. The rows of some steps joined are one product; so are the rows that a bias' gradient sums. On
// the CPU, of floats of whole precision. Examples: tests/golden/passes/sums_of_products.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr sums_of_products(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
