// Which results of a region cannot be differentiated one after the other, as eager would have it: a backward
// pass uses up what the operators on its way have saved, and another one through such an operator raises.
#pragma once

#include <map>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::torch_bridge {

struct JointParts;

// By tangent: the tangents (itself too, perhaps) behind whose results an operator saves something for
// backward that is behind its own result as well. followed: see autodiff::Program. wanted: by result, whether
// it has a tangent. Without own rules nothing is known of operators, and each conflicts with all.
std::vector<std::vector<int>> shared_saves(const JointParts& parts, const std::vector<bool>& wanted,
                                           const std::map<ir::NodeId, std::vector<bool>>& followed,
                                           bool own_rules);

// By tangent: those of results between its own result and the inputs.
std::vector<std::vector<int>> results_passed(const JointParts& parts, const std::vector<bool>& wanted,
                                             const std::map<ir::NodeId, std::vector<bool>>& followed);

}  // namespace vitrine::torch_bridge
