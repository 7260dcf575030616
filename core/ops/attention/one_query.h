// Attention of one query a head, as a token that is generated with a cache asks for: what its arguments say,
// and whether a kernel of ours computes it.
#pragma once

#include <optional>

#include "core/ops/node.h"

namespace vitrine::ops {

struct OneQuery {
  ir::Ref query, key, value;
  std::optional<ir::Ref> mask;  // of truth values or numbers, broadcast over batch, heads and places
  double scale = 1;
  ir::Sym batch, heads, groups, places, width;  // groups: heads of keys and values, which some heads share
};

// scaled_dot_product_attention on a GPU whose queries are one a head, without dropout. nullopt: another node.
std::optional<OneQuery> one_query(const ir::Node& node, const TypeOf& type_of);

// Whether the kernel (core/codegen/cuda/emit_attention.h) reads the tensors as they lie: neighbours in runs
// of 16 bytes, a row by a warp at most, as few heads a group as registers hold.
bool has_kernel(const OneQuery& attention, const TypeOf& type_of);

}  // namespace vitrine::ops
