// Operators that nobody uses go away, unless they write, draw random numbers or may raise an error.
// Examples: tests/golden/passes/dce.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr dce(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
