// A value of the forward pass that the backward pass of the same graph reads long afterwards (silu(gate), a
// norm's rows) is held in memory until then. Where it follows element by element from values that are held
// anyway, it is computed again in front of its late readers, which join it to their loops: nothing is held,
// and less is read. In a training step that is one graph; where forward and backward are graphs of their own,
// core/autodiff/partition decides so. Examples: tests/golden/passes/rematerialise.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr rematerialise(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
