// How many operations a node does, for prices and rooflines.
#pragma once

#include <cstdint>

#include "core/ir/graph.h"

namespace vitrine::ops {

// Multiplications and additions of matrix products and convolutions; one an output element for the rest, 0
// where it is not known.
int64_t flops(const ir::Graph& graph, const ir::Node& node);

}  // namespace vitrine::ops
