// Matrix products and attention, computed by library kernels.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

void matrices(const TensorType& a, const TensorType& b) {
  need(a.sizes.size() == 2 && b.sizes.size() == 2, "not matrices");
  need(a.dtype == b.dtype && a.dtype != DType::other && !ir::is_complex(a.dtype) && a.dtype != DType::b1,
       "types");
  need(a.sizes[1] == b.sizes[0], "inner sizes differ");
}

Types mm(const Call& c) {
  matrices(c.tensor(0), c.tensor(1));
  return {TensorType::contiguous(c.tensor(0).dtype, {c.tensor(0).sizes[0], c.tensor(1).sizes[1]})};
}
Types addmm(const Call& c) {
  const TensorType &bias = c.tensor(0), &a = c.tensor(1), &b = c.tensor(2);
  matrices(a, b);
  Dims sizes{a.sizes[0], b.sizes[1]};
  need(bias.dtype == a.dtype && bias.sizes.size() <= 2 && broadcast(bias.sizes, sizes) == sizes, "bias");
  need(ir::is_float(a.dtype) || (!ir::is_float(c.number_dtype(3)) && !ir::is_float(c.number_dtype(4))),
       "fractional factors for integers");
  return {TensorType::contiguous(a.dtype, sizes)};
}

TensorType batched(const TensorType& a, const TensorType& b) {
  need(a.sizes.size() == 3 && b.sizes.size() == 3, "not batches of matrices");
  need(a.dtype == b.dtype && a.dtype != DType::other && !ir::is_complex(a.dtype) && a.dtype != DType::b1,
       "types");
  need(a.sizes[0] == b.sizes[0] && a.sizes[2] == b.sizes[1], "sizes do not match");
  return TensorType::contiguous(a.dtype, {a.sizes[0], a.sizes[1], b.sizes[2]});
}
Types bmm(const Call& c) {
  return {batched(c.tensor(0), c.tensor(1))};
}
Types baddbmm(const Call& c) {
  TensorType out = batched(c.tensor(1), c.tensor(2));
  const TensorType& bias = c.tensor(0);
  need(ir::is_float(out.dtype), "integers");
  need(bias.dtype == out.dtype && broadcast(bias.sizes, out.sizes) == out.sizes, "bias");
  return {out};
}
Types mv(const Call& c) {
  const TensorType &a = c.tensor(0), &b = c.tensor(1);
  need(a.sizes.size() == 2 && b.sizes.size() == 1 && a.sizes[1] == b.sizes[0], "sizes do not match");
  need(a.dtype == b.dtype && ir::is_float(a.dtype), "types");
  return {TensorType::contiguous(a.dtype, {a.sizes[0]})};
}
Types dot(const Call& c) {
  const TensorType &a = c.tensor(0), &b = c.tensor(1);
  need(a.sizes.size() == 1 && a.sizes == b.sizes, "sizes do not match");
  need(a.dtype == b.dtype && ir::is_float(a.dtype), "types");
  return {TensorType::contiguous(a.dtype, {})};
}

// Query, key and value are (batch, heads, length, features). The result has the query's layout; the
// log-sum-exp is kept in f32 or wider, as (batch, length, heads) in memory.
Types attention(const Call& c) {
  const TensorType &q = c.tensor(0), &k = c.tensor(1), &v = c.tensor(2);
  need(q.sizes.size() == 4 && k.sizes.size() == 4 && v.sizes.size() == 4, "not 4 dimensions");
  need(q.dtype == k.dtype && q.dtype == v.dtype && ir::is_float(q.dtype), "types");
  const Sym batch = q.sizes[0], heads = q.sizes[1], length = q.sizes[2], features = q.sizes[3];
  need(k.sizes[0] == batch && v.sizes[0] == batch && k.sizes[2] == v.sizes[2], "sizes do not match");
  need(k.sizes[3] == features && v.sizes[3] == features && q.numel() > 0 && k.numel() > 0, "sizes");
  need(k.sizes[1] == heads && v.sizes[1] == heads, "grouped heads");
  TensorType out{q.dtype, q.sizes, preserved_strides(q), 0};
  TensorType lse{opmath(q.dtype), {batch, heads, length}, {length * heads, 1, heads}, 0};
  return {out, lse};
}

}  // namespace

constexpr Family kFamily = Family::matmul;
constexpr Lower kLower = Lower::library;

const std::vector<OpRow> kMatmul = {
    {"aten.mm.default", "self, mat2", kFamily, kLower, covered<mm>, "", kRule, "matrix product"},
    {"aten.addmm.default", "self, mat1, mat2, *, beta=1, alpha=1", kFamily, kLower, covered<addmm>, "", kRule,
     "beta * bias + alpha * matrix product", "", "", kWrapsAlike},
    {"aten._addmm_activation.default", "self, mat1, mat2, *, beta=1, alpha=1, use_gelu=False", kFamily,
     kLower, covered<addmm>, "", "borrowed(\"made by a pass, behind the derivative\")",
     "relu or gelu of addmm; on a GPU gelu is that by tanh"},
    {"aten.bmm.default", "self, mat2", kFamily, kLower, covered<bmm>, "", kRule,
     "matrix products of a batch"},
    {"aten.baddbmm.default", "self, batch1, batch2, *, beta=1, alpha=1", kFamily, kLower, covered<baddbmm>,
     "", kRule, "beta * bias + alpha * matrix products of a batch", "", "", kWrapsAlike},
    {"aten.mv.default", "self, vec", kFamily, kLower, covered<mv>, "", kRule, "matrix times vector"},
    {"aten.dot.default", "self, tensor", kFamily, kLower, covered<dot>, "", "a: g * b; b: g * a",
     "product of vectors"},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default",
     "query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None", kFamily, kLower,
     covered<attention>, "", kRule, "softmax(q k' * scale + mask) v"},
};

}  // namespace vitrine::ops
