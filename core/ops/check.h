// The operator table's laws for a graph, on top of core/ir/verify.h:
//  - aten and below: arguments fit the operator's parameters; its shape rule, where it answers, gives the
//    node's types
//  - decomposed and below: no operator that the pipeline should have written out remains
#pragma once

#include "core/ir/verify.h"

namespace vitrine::ops {

std::vector<ir::BrokenLaw> verify(const ir::Graph& graph);  // both lists of laws

}  // namespace vitrine::ops
