// A view that ends where its chain has been before is that earlier value; a view of a view reads the base.
// Examples: tests/golden/passes/fold_views.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr fold_views(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
