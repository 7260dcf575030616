// How often a program writes to each tensor that its caller sees, as PyTorch counts it (Tensor._version),
// before any pass has joined writes or dropped them.
#pragma once

#include "core/codegen/schedule/program.h"
#include "core/ir/graph.h"

namespace vitrine::runtime {

codegen::WriteCounts count_writes(const ir::Graph& aten);

}  // namespace vitrine::runtime
