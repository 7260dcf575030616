#include "core/recording/sized_attention.h"

#include <utility>

#include "core/ops/layout.h"

namespace vitrine::ops {

namespace {

// (batch, heads, length, features) as (batch, length, heads, features), and back.
TensorType turned(TensorType t) {
  std::swap(t.sizes[1], t.sizes[2]);
  std::swap(t.strides[1], t.strides[2]);
  return t;
}

const TensorType& heads(const TensorType& t) {
  need(t.sizes.size() == 4 && t.numel().hint() > 0, "not 4 dimensions, or no elements");
  need(t.dtype == DType::f16 || t.dtype == DType::bf16 || t.dtype == DType::f32, "types");
  return t;
}

// Flash attention's results lie as what they are results for, in its own order of dims.
TensorType like(const TensorType& t) {
  TensorType out = turned(heads(t));
  out.strides = preserved_strides(out);
  out.offset = 0;
  return turned(out);
}

// The other one's have a position's heads beside each other.
TensorType rows(const TensorType& t, const Sym& features) {
  heads(t);
  return turned(TensorType::contiguous(t.dtype, {t.sizes[0], t.sizes[2], t.sizes[1], features}));
}

Types flash(const Call& c) {
  const TensorType& q = heads(c.tensor(0));
  return {like(q), TensorType::contiguous(DType::f32, {q.sizes[0], q.sizes[1], q.sizes[2]})};
}
// grad_out, query, key, value, ...
Types flash_backward(const Call& c) {
  return {like(c.tensor(1)), like(c.tensor(2)), like(c.tensor(3))};
}

// query, key, value, attn_bias, compute_log_sumexp, ...
Types efficient(const Call& c) {
  const TensorType &q = heads(c.tensor(0)), &v = heads(c.tensor(2));
  const Sym kept = c.flag(4) ? ir::ceildiv(q.sizes[2], 32) * 32 : Sym(0);
  return {rows(q, v.sizes[3]), TensorType::contiguous(DType::f32, {q.sizes[0], q.sizes[1], kept})};
}
// grad_out, query, key, value, attn_bias, out, logsumexp, seed, offset, dropout, grad_input_mask, ...
Types efficient_backward(const Call& c) {
  const TensorType &q = c.tensor(1), &k = c.tensor(2), &v = c.tensor(3);
  need(c.none(4), "a gradient of the bias");
  return {rows(q, q.sizes[3]), rows(k, k.sizes[3]), rows(v, v.sizes[3])};
}

std::vector<Sym> lengths(const ShapeCall& call) {
  return {call.args.at(0).tensor->sizes.at(2), call.args.at(1).tensor->sizes.at(2)};
}
std::vector<Sym> no_lengths(const ShapeCall&) {
  return {};
}

constexpr SizedAttention kRows[] = {
    {"aten._scaled_dot_product_flash_attention.default", covered<flash>, lengths},
    {"aten._scaled_dot_product_flash_attention_backward.default", covered<flash_backward>, no_lengths},
    {"aten._scaled_dot_product_efficient_attention.default", covered<efficient>, no_lengths},
    {"aten._scaled_dot_product_efficient_attention_backward.default", covered<efficient_backward>,
     no_lengths},
};

}  // namespace

const SizedAttention* sized_attention(std::string_view op) {
  for (const SizedAttention& row : kRows)
    if (op == row.op) return &row;
  return nullptr;
}

}  // namespace vitrine::ops
