// One spelling for each thing: defaults are left out, a tensor made from nothing names its type, operators
// that return their argument go away.
// Examples: tests/golden/passes/canonicalise.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr canonicalise(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
