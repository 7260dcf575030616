// Results that other results are computed from. Autograd's engine shows whoever asks (a hook, retain_grad,
// autograd.grad) the whole gradient of such a result: what comes of it from outside and what comes from the
// results above it. The backward graph as it is adds both up inside. Cut at these results it is a piece a
// result: the tangent of a result is its whole gradient then, and the gradients that a piece has for the
// results below go out, to come in again as a part of their tangents.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::autodiff {

// A result that others may be computed from: one of the region's, or a view that is made again behind it.
struct CutPoint {
  ir::NodeId whole = -1;  // of the joint graph: gives its gradient, to which nothing is added any more
  int tangent = -1;       // of the region's results; -1: a view, whose gradient reaches what it views outside
};

struct Cut {
  // The pieces side by side: the inputs of the backward graph; its results, then for each point what the
  // pieces above have for it. Null: no result is computed from another.
  ir::GraphPtr backward;
  std::vector<int> tangents;              // by point: CutPoint::tangent
  std::vector<std::vector<int>> behind;   // by tangent: the points between its result and the inputs
  std::vector<std::vector<int>> readers;  // by value handed over: the tangents whose piece reads it
};

// backward: of the partition; its last inputs are the tangents. passed, by tangent: the points that autograd
// comes by from there. is_ours: the derivative is written by gradient rules, where what depends on no tangent
// is zeros. Errors: the graph falls into no such pieces.
Result<Cut> cut_at(const ir::GraphPtr& backward, const std::vector<ir::NodeId>& tangents,
                   const std::vector<CutPoint>& points, const std::vector<std::vector<int>>& passed,
                   bool is_ours);

}  // namespace vitrine::autodiff
