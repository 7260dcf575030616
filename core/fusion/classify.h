// How a node runs below the graph, from the operator table.
#pragma once

#include "core/ops/node.h"

namespace vitrine::fusion {

// Every output is an affine view of args[0]; its type says where. An operator that is a view only by chance
// (reshape) has no row as one.
inline bool is_view(const ir::Node& node) {
  const ops::OpRow* row = ops::find(node.op);
  if (!row || row->lower != ops::Lower::view || node.outputs.empty()) return false;
  return !node.args.empty() && node.args[0].is<ir::Ref>();
}
// PyTorch's kernel computes into a buffer of ours.
inline bool is_library(const ir::Node& node) {
  const ops::OpRow* row = ops::find(node.op);
  return row && row->lower == ops::Lower::library;
}

}  // namespace vitrine::fusion
