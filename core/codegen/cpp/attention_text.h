// Attention as freestanding C++ with explicit vectors, on the tiles of product_text.h: for a chunk of one
// head's rows the scores of a block of places, their weights, and the sum of the values by these, which is
// made smaller whenever a larger score comes (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018; Dao et al., "FlashAttention", 2022). No more than a block of scores is in memory, and it
// stays in the cache.
#pragma once

#include <cstdint>
#include <string>

#include "core/codegen/cpp/product_text.h"

namespace vitrine::codegen::cpp {

struct AttentionForm {
  double scale = 1;
  bool mask = false, causal = false;
  ProductEdges edges;  // of both products
};

// The kernel's last argument, in this order. Strides and places of the first elements are counted in
// elements.
struct AttentionNumbers {
  ir::Sym heads = 1, length = 0, places = 0, width = 0;
  ir::Sym share = 1;              // heads that read one head of keys and values
  ir::Sym chunk = 1, chunks = 1;  // rows of a chunk, at most kMostAttentionRows; how many there are
  ir::Sym q = 0, q_batch = 0, q_head = 0, q_row = 0;
  ir::Sym k = 0, k_batch = 0, k_head = 0, k_row = 0;
  ir::Sym v = 0, v_batch = 0, v_head = 0, v_row = 0;
  ir::Sym out_batch = 0, out_head = 0, out_row = 0;
  ir::Sym mask = 0, mask_batch = 0, mask_head = 0, mask_row = 0, mask_place = 0;  // the last is 0 or 1
};
inline constexpr size_t kAttentionNumbers = sizeof(AttentionNumbers) / sizeof(ir::Sym);
// A block of scores is a quarter of a megabyte, on the stack.
inline constexpr int64_t kMostAttentionRows = 240;
inline constexpr int64_t kAttentionBlock = 256;  // places
inline constexpr int64_t kMostAttentionWidth = kDepth;

// out = softmax(q k' * scale + mask) v, all f32; 0 where a row sees no place. causal: row i sees places up to
// i. Arguments: q, k, v, the mask if there is one, out, AttentionNumbers. Columns have stride 1. A work item
// is a chunk of rows of one head.
std::string attention_text(const ProductTile& tile, const AttentionForm& form);

}  // namespace vitrine::codegen::cpp
