// The backward graphs of a joint: of a program with several results a backward pass comes from some of them.
#pragma once

#include <compare>
#include <vector>

#include "core/autograd/joint.h"

namespace vitrine::torch_api {

struct BackwardVariant {
  std::vector<bool> defined;  // by tangent
  bool cut = false;           // at the results that others are computed from
  auto operator<=>(const BackwardVariant&) const = default;
};

const ir::GraphPtr& whole_backward(const Joint& joint, bool cut);
// The backward graph for calls where only these tangents are defined. It has the inputs of the whole one.
ir::GraphPtr backward_of(const Joint& joint, const BackwardVariant& asked);

}  // namespace vitrine::torch_api
