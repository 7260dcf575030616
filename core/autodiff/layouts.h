// How gradients lie when what backward is given lies otherwise than the graph was made for: eager's operators
// choose their results' layouts by their arguments'.
#pragma once

#include <map>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::autodiff {

// The strides (in elements) of each tensor result, empty for others, where these inputs have these strides.
// What has no rule in the operator table, or a rule that refuses, is taken to lie as the graph says.
std::vector<ir::Dims> result_strides(const ir::Graph& backward, const std::map<ir::NodeId, ir::Dims>& given);

}  // namespace vitrine::autodiff
