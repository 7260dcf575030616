// What PyTorch's attention on a GPU gives where sizes are expressions: its results, their layout by those of
// the query, and the lengths that it hands to its backward.
#pragma once

#include <string_view>
#include <vector>

#include "core/ops/table.h"

namespace vitrine::ops {

struct SizedAttention {
  std::string_view op;
  // Of the results whose sizes follow from the arguments', the first ones.
  ShapeRule types;
  // What it gives that is no tensor, in order.
  std::vector<ir::Sym> (*lengths)(const ShapeCall& call);
};
const SizedAttention* sized_attention(std::string_view op);  // nullptr: it is another operator

}  // namespace vitrine::ops
