// Attention on the CPU (_scaled_dot_product_flash_attention_for_cpu): what its arguments say, and whether a
// kernel of ours computes it.
#pragma once

#include <optional>

#include "core/ops/node.h"

namespace vitrine::ops {

struct WholeRows {
  ir::Arg query, key, value;
  std::optional<ir::Arg> mask;  // of numbers, broadcast over batch, heads, rows and places
  double scale = 1;
  bool causal = false;
};

// nullopt: another node, one that drops out, or one whose tensors do not lie as the kernel
// (core/codegen/cpp/attention_text.h) reads them: f32, neighbours in each row, a row of `most_width` at most.
std::optional<WholeRows> whole_rows(const ir::Node& node, const TypeOf& type_of, int64_t most_width);

}  // namespace vitrine::ops
