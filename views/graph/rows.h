// The fusion pictures: one row for each loop, under each other in the order in which their kernels run, the
// loops of one kernel next to each other. Both panes take the same order, so that what is fused stands where
// it stood before.
#pragma once

#include "views/graph/scene.h"

namespace vitrine::views {

// Kernel of each node by its stable number, as the fused graph of the compilation has it: before fusion a
// node has no label of its own.
std::unordered_map<int64_t, std::string> kernel_labels(const kit::SessionData& data, Id compilation);

// A weight stands beside the rows, not among them.
inline bool is_weight(const session::NodeRow& node) {
  return node.kind == "parameter" || node.kind == "buffer" || node.kind == "constant";
}

// The vertices of a graph (no weights, no outputs) in row order. An input stands above its first reader.
std::vector<const session::NodeRow*> row_order(const kit::SessionData& data, const session::GraphRow& graph);

// Places the items of a compact scene, which stand in row order, in one column and routes the edges.
kit::GraphLayout layout_rows(const Scene& scene);

}  // namespace vitrine::views
