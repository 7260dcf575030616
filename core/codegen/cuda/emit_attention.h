// Attention of one query a head (core/ops/attention/one_query.h). Two launches. In the first a block reads a
// part of the places of one head of keys and values once, for all heads that share it: scores, their largest
// and their sum so far, and the sum of values weighted by them, which is made smaller whenever a larger score
// comes (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). In the second the parts
// of a head are added up.
#pragma once

#include "core/codegen/schedule/program.h"
#include "core/codegen/schedule/size_memory.h"
#include "core/ops/attention/one_query.h"

namespace vitrine::codegen::cuda {

// Types as they lie in memory, offsets counted from the pointers that the kernels get: query, key, value and,
// if there is one, mask; then the first launch's results; of the second these and the result.
struct AttentionKernels {
  ops::OneQuery what;
  ir::TensorType query, key, value, mask, result;
  ir::NodeId node = -1;
  int64_t parts = 1;  // of the places of a head of keys
};

// For that many parts of each head every multiprocessor has work.
int64_t attention_parts(const ops::OneQuery& attention);
// f32, by block of the first launch and head: weighted sums; largest score and sum of weights.
ir::TensorType attention_sums(const AttentionKernels& kernels);
ir::TensorType attention_scales(const AttentionKernels& kernels);
// launch: 0 or 1.
Kernel emit_attention(const AttentionKernels& kernels, int launch, const std::string& label,
                      SizeMemory* sizes);

}  // namespace vitrine::codegen::cuda
