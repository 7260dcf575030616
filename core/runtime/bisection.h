// Which kernels and joined products of a program a bisection leaves out.
#pragma once

#include <set>

#include "core/base/opt_bisect.h"
#include "core/codegen/products.h"
#include "core/codegen/schedule/program.h"

namespace vitrine::runtime {

// Takes the ways that may not be used out of the program. true: kernels went, whose operators are now in
// by_pytorch, and the program is to be built again around them.
bool hold_back(OptBisect& bisect, const ir::Graph& graph, codegen::Program& program,
               std::set<ir::NodeId>& by_pytorch);
// Products that may not be joined with what follows them are PyTorch's.
void hold_back(OptBisect& bisect, const ir::Graph& graph, codegen::ProductChoices& choices);

}  // namespace vitrine::runtime
