// The laws that every graph keeps, by its structure alone (core/ops/check.h adds the operator table's):
//  - every reference names an output of a node above it
//  - names are unique, and made of letters, digits and underscores
//  - an operator node has an operator, an input none; inputs have one output and no tensor arguments
//  - a type has as many strides as sizes, none of them negative, and no negative offset
//  - a node has an origin: a place in the user's file, nodes it came from, or the rule that made it
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::ir {

struct BrokenLaw {
  NodeId node = -1;  // -1: the results
  std::string text;
};
std::vector<BrokenLaw> verify(const Graph& graph);

// The graph's text with each broken law under its node: what an internal error carries.
std::string show_broken(const Graph& graph, const std::vector<BrokenLaw>& broken);

}  // namespace vitrine::ir
