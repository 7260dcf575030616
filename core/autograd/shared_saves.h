// Which results of a region cannot be differentiated one after the other, as eager would have it: a backward
// pass uses up what the operators on its way have saved, and another one through such an operator raises.
// And which results it comes by on its way.
#pragma once

#include <map>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::torch_api {

struct JointParts;
using Followed = std::map<ir::NodeId, std::vector<bool>>;  // see autodiff::ForwardProgram

// By tangent: the tangents (itself too, perhaps) behind whose results an operator saves something for
// backward that is behind its own result as well; from a result to the points (parts.points) between it and
// the inputs, if `to_points`. wanted: by result, whether it has a tangent. Without own rules nothing is known
// of operators, and each conflicts with all that share one with it.
std::vector<std::vector<int>> shared_saves(const JointParts& parts, const std::vector<bool>& wanted,
                                           const Followed& followed, bool own_rules, bool to_points);

// By tangent: the points (parts.points) between its own result and the inputs.
std::vector<std::vector<int>> points_passed(const JointParts& parts, const std::vector<bool>& wanted,
                                            const Followed& followed);

}  // namespace vitrine::torch_api
