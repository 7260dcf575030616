// softmax(q k' * scale + mask) v, written out by the program, becomes PyTorch's attention, which holds no
// matrix of scores. It gives what the written form gives, and where it would not, the form stays or is
// mended:
//  - A row that sees no place: the written form has NaN, and the mean of the values where the mask fills in a
//    finite number. PyTorch's attention has 0. Such rows are set behind it, unless the mask tells by its
//    places that there are none. With gradients NaN reaches everything: on a CPU such masks stay written out,
//    on a GPU NaN is led where the written form has it.
//  - A finite number that fills in hides a place only if it is far below all scores: from -1e9 down, and the
//    least number of half precision.
//  - Dropout draws other numbers than PyTorch's attention: it stays written out.
// Short rows stay, which kernels of ours compute faster. With gradients on a GPU it is asked what PyTorch
// chooses: large matrices of 16-bit numbers alone gain. Examples: tests/golden/passes/fuse_attention.txt.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::passes {

// false: none of the nodes is a softmax.
bool may_write_attention(const std::vector<ir::Node>& nodes);

ir::GraphPtr fuse_attention(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

// A call of torch.nn.functional.scaled_dot_product_attention on a GPU: (batch, heads, length, features) each.
struct AttentionToDerive {
  ir::Ref query, key, value;
  std::optional<ir::Ref> mask;  // is added to the scores
  double scale = 1;
  bool causal = false;
  std::array<bool, 3> requires_grad = {};  // by factor
  std::function<ir::TensorType(ir::Ref)> type;
};
// The operators that PyTorch calls for it, in order, and what they give; nullopt: it holds the matrix of
// scores.
struct ChosenAttention {
  std::vector<ir::Node> nodes;
  ir::Ref result;
};
using ChooseAttention = std::function<std::optional<ChosenAttention>(const AttentionToDerive& call)>;

// The same of a program that is to be differentiated, by operators that have a gradient rule. has_gradient:
// whether a gradient of this value is asked for; choose: nullptr for what is on a GPU and stays.
ir::GraphPtr fuse_attention_to_derive(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids,
                                      const std::function<bool(ir::Ref)>& has_gradient,
                                      const ChooseAttention& choose = nullptr);

}  // namespace vitrine::passes
