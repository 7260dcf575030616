// The text form of a graph (core/ir/graph.h shows it). parse(print(g)) prints the same again.
#pragma once

#include <functional>
#include <string>

#include "core/ir/graph.h"

namespace vitrine::ir {

struct PrintOptions {
  bool origins = false;  // also module, rule and place of each node
  // Text to stand under a node, "" for none: how the verifier shows a broken law in its place.
  std::function<std::string(const Node&)> note;
};

std::string print(const Graph& graph, const PrintOptions& options = {});
std::string print_node(const Graph& graph, const Node& node, const PrintOptions& options = {});
// "%x, %y, alpha=2": a node's arguments.
std::string print_args(const Graph& graph, const Node& node);
std::string print_arg(const Graph& graph, const Arg& arg);
// "f32[8,64]{1,8}@16": exact strides (also of size-1 dims) and offset, where not the plain ones.
std::string print_type(const TensorType& type);

}  // namespace vitrine::ir
