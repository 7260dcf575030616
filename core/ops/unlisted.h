// Operators without a row: what is known of them, from lists and from PyTorch's naming. Whoever asks of a
// node asks core/ops/node.h, which knows both; the lists below are of operators that never get a row, because
// they run through PyTorch alone.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "core/ops/table.h"

namespace vitrine::ops::unlisted {

// They drop out where a probability, this argument, is not zero. A backward draws nothing: it is given the
// seed and the offset.
struct DropsOut {
  std::string_view op;
  size_t probability;
  bool draws = true;
};
const DropsOut* dropping_out(std::string_view op);

// An operator and its backward: an output that it makes for that alone, and gradients that its backward does
// without.
struct Recurrent {
  std::string_view op;
  size_t workspace;
  std::string_view backward;
  std::array<size_t, 3> gradients;
};
const Recurrent* recurrent(std::string_view op);  // of either of the two

// What PyTorch's recurrent layers give, each as one operator; their backward as
// well. nullptr: another operator. The memory that a layer makes for its backward alone has a size that only
// its library knows: the rule gives one of about that many bytes, and what comes is handed on as it is.
ShapeRule recurrent_types(std::string_view op);

// What the node writes. An operator that is not PyTorch's may write every tensor that it gets.
std::vector<ir::Ref> written(const ir::Node& node);
bool writes_self(const ir::Node& node);   // its first argument and nothing else
bool writes_named(const ir::Node& node);  // what it is given by name and nothing else, and hands that back
bool is_fused_optimizer(std::string_view op);
bool named_as_random(std::string_view op);

// They reject zeros (on a GPU by an assertion, which ends all that follows), or their kernels end the process
// for some layouts (PyTorch's group norm backward when only part of its outputs is asked for).
bool rejects_zeros(std::string_view op);
// They do nothing but raise, depending on data.
bool only_raises(std::string_view op);
// Views by what they do, though the schema does not say so: they promise that nobody writes to both.
bool is_view(std::string_view op);
bool is_hidden_view(std::string_view op);     // shares memory, and autograd is not told
const OpRow* view_like(std::string_view op);  // which has the types of its results; nullptr: no view
// The result's shape depends on data, though no tag says so.
bool shape_follows_data(std::string_view op);

}  // namespace vitrine::ops::unlisted
