// What is reduced over dims of one element becomes a loop, which fuses: a sum adds 0, for eager makes 0 of
// -0. A reduction's own loop would have nothing to reduce. Examples: tests/golden/passes/sums_of_one.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr sums_of_one(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
