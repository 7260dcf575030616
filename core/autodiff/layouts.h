// How gradients lie when what backward is given lies otherwise than the graph was made for: eager's operators
// choose their results' layouts by their arguments'.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::autodiff {

// By result: its strides (in elements) where these inputs have these strides; nothing where it lies as the
// graph says, or is no tensor. What has no rule in the operator table, or a rule that refuses, is taken to
// lie as the graph says. put_in: the numbers of a node's expressions, if it has any.
std::vector<std::optional<ir::Dims>> changed_strides(const ir::Graph& backward,
                                                     const std::map<ir::NodeId, ir::Dims>& given,
                                                     const std::function<void(ir::Node&)>& put_in);

}  // namespace vitrine::autodiff
