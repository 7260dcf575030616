// The backward graph of a call after which some results got no gradient. Eager does not walk their paths: a
// sum of gradients keeps the terms that are there. Zeros for the results' gradients would not do, since a
// derivative may be infinite; where the parts of a value meet, zeros stand for what is missing.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::autodiff {

// By node, which of the tangents (by their order) its values come from. What is written into a memory is in
// every value that may share it.
std::unordered_map<ir::NodeId, std::set<int>> tangents_in(const ir::Graph& graph,
                                                          const std::vector<ir::NodeId>& tangents);

// Why the graph cannot be taken apart by its tangents (the inputs named), or "": where gradients of
// different results meet, they must be added, and the sum must be dense, or they must be joined.
std::string why_inseparable(const ir::Graph& backward, const std::vector<ir::NodeId>& tangents);

// The graph without these tangents. It has the same inputs; a gradient that stems from them alone is None.
// tangents: all of them, those too. Needs a graph that is separable.
ir::GraphPtr without_tangents(const ir::GraphPtr& backward, const std::vector<ir::NodeId>& tangents,
                              const std::unordered_set<ir::NodeId>& undefined);

// By input of the backward graph, the tangents aside: which of these (by their order) make its value read.
std::vector<std::vector<int>> readers_of(const ir::Graph& backward, const std::vector<ir::NodeId>& tangents);

}  // namespace vitrine::autodiff
