// Faults on purpose, for tests of what finds faults: a kernel's text or an operator that a pass wrote is made
// wrong in a declared way.
#pragma once

#include <string>
#include <vector>

#include "core/codegen/schedule/program.h"
#include "core/ir/graph.h"

namespace vitrine::codegen {

struct Fault {
  // "mul sum": kernels that compute at least these operators, by their short names; "pass decompose": what
  // that pass writes.
  std::string where;
  std::string find, put;  // in the kernel's text; of a pass, an operator and the one in its place
};
using Faults = std::vector<Fault>;

// graph: in which the kernel's nodes are.
void make_wrong(Kernel& kernel, const ir::Graph& graph, const Faults& faults);
// What a pass made of `before`; the same pointer where no fault is of it.
ir::GraphPtr made_wrong(const std::string& pass, const ir::Graph& before, const ir::GraphPtr& after,
                        const Faults& faults, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::codegen
