// An operator that writes becomes its functional form where nobody else can see the memory: the memory
// belongs to the graph, and no other view of it is used later. Otherwise it stays in place, a barrier for
// fusion. Examples: tests/golden/passes/functionalise.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr functionalise(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
