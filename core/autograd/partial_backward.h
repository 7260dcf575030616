// A backward pass that fails half-way. PyTorch's engine goes through a program's operators from the last to
// the first, and gives a leaf its gradient as soon as that is complete: where an operator raises, leaves that
// the pass has come by already keep what they got.
#pragma once

#include <vector>

#include "core/autograd/joint.h"

namespace vitrine::torch_api {

struct Failure {
  std::vector<bool> defined;  // by tangent: the pass brings it
  std::vector<bool> used;     // by tangent: an earlier pass from it has used up what its operators had saved
  std::vector<bool> changed;  // by value handed over: an operator that reads it raises
  std::vector<bool> missing;  // by value handed over: it is not there any more
};

// By gradient: whether it is complete before the pass comes to the operator that raises, and follows from
// what is there. backward: the joint's, without the tangents that are not defined. Of a borrowed derivative
// nothing is known, nor where no operator is found that raises: none is.
std::vector<bool> complete_before(const Joint& joint, const ir::Graph& backward, const Failure& failure);

// A graph with the same inputs that computes these of the results alone; the others are None.
ir::GraphPtr part_of(const ir::Graph& graph, const std::vector<bool>& wanted);

}  // namespace vitrine::torch_api
