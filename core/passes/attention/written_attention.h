// Attention that a program writes out itself: softmax(q k' * scale + mask) v, found from its last product
// down. The matrices of scores and weights are read by nobody else. Scales are numbers. Masks are added,
// subtracted, or fill the scores with a number. A mask that is scaled, weights that are dropped out, and
// scores that are rounded to a narrower type than the factors' are something else.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::passes {

struct WrittenMask {
  ir::Ref tensor;               // broadcast over the scores where the program applied it
  size_t rank = 0;              // dimensions of these scores
  std::optional<double> fills;  // the number that stands where it is true (`shows`: false); none: it is added
  bool shows = false;
  bool subtracted = false;  // in the place of added
};

struct WrittenAttention {
  ir::Ref query, key, value;  // as the products read them; key: places last
  ir::Dims batch;             // what the matrices are many of: (batch, heads), (many), or nothing
  ir::Sym length, places;     // rows and columns of the scores
  double scale = 1;
  std::vector<WrittenMask> masks;   // in the order of their application, the last first
  std::vector<ir::NodeId> between;  // what the last product stands for as well, and nobody else reads
};

class AttentionFinder {
 public:
  explicit AttentionFinder(const ir::Graph& graph);
  // The attention that this product ends. nullopt: it ends none.
  std::optional<WrittenAttention> ended_by(const ir::Node& product) const;
  // Nobody reads it, as the detached results that PyTorch's autograd has noted.
  bool is_unused(const ir::Node& node) const;

 private:
  struct Walk;
  bool read_alone(const ir::Node& node) const;

  const ir::Graph& graph_;
  std::vector<size_t> uses_;     // by position: how often its values are read
  std::vector<bool> is_result_;  // by position
};

}  // namespace vitrine::passes
