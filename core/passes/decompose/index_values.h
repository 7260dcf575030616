// What the elements of a tensor are, told by their places alone: constants, whole numbers that grow steadily
// along each dimension (arange and sums of it), and one of two numbers by a comparison of such numbers. Masks
// are made of these. What cannot be told is unknown; what is told holds for every element, exactly.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::passes {

// start + the sum of steps[d] * place[d]; a step a dimension.
struct Linear {
  int64_t start = 0;
  ir::Dims steps;
  bool operator==(const Linear&) const = default;
};

// `yes` where the test is not negative, else `no`; a NaN is a number that is not known.
struct Choice {
  Linear test;
  double yes = 0, no = 0;
};

struct Unknown {};

using IndexValue = std::variant<Unknown, double, Linear, Choice>;

class IndexValues {
 public:
  // node: nullptr for one that is not known; written: whether somebody writes the memory of its results.
  IndexValues(std::function<const ir::Node*(ir::NodeId)> node, std::function<bool(ir::NodeId)> written)
      : node_(std::move(node)), written_(std::move(written)) {}

  IndexValue of(ir::Ref value);
  const ir::TensorType& type(ir::Ref value) const;

 private:
  IndexValue computed(const ir::Node& node);

  std::function<const ir::Node*(ir::NodeId)> node_;
  std::function<bool(ir::NodeId)> written_;
  std::unordered_map<ir::NodeId, IndexValue> known_;
  int depth_ = 0;
};

// The least and the greatest value.
struct ValueRange {
  int64_t least = 0, most = 0;
};
ValueRange range_of(const Linear& value, const ir::Dims& sizes);
// Where the one is negative, the other is not.
Linear opposite(Linear test);

}  // namespace vitrine::passes
