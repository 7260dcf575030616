// What is of no other family here: places and counts, losses, distances, norms, bags, attention.
#include "core/ops/sized/rules.h"

namespace vitrine::ops {

namespace {

Types truths(const Call& c) {
  return {TensorType::contiguous(DType::b1, whole(c.tensor(0)).sizes)};
}
// Both laid out as what is sorted, but without its gaps.
Types sorted(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.numel() > 0, "no elements");
  return {{t.dtype, t.sizes, preserved_strides(t), 0}, {DType::i64, t.sizes, preserved_strides(t), 0}};
}
// Elements by their places in memory order.
Types taken(const Call& c) {
  const TensorType &t = c.tensor(0), &index = whole(c.tensor(1));
  need(t.numel() > 0, "no elements");
  return {of_sizes(t, index.sizes)};
}
// Flipped, and by an odd number of quarter turns transposed: self, k, dims
Types turned(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.numel() > 0, "no elements");
  const Dims dims = c.ints(2);
  need(dims.size() == 2, "two dimensions");
  TensorType out{t.dtype, t.sizes, preserved_strides(t), 0};
  const int64_t turns = ((static_cast<int64_t>(c.integer(1)) % 4) + 4) % 4;
  if (turns == 0) return {of_sizes(t, t.sizes)};
  if (turns == 2) return {out};
  const size_t a = wrap_dim(dims[0], t.sizes.size()), b = wrap_dim(dims[1], t.sizes.size());
  std::swap(out.sizes[a], out.sizes[b]);
  std::swap(out.strides[a], out.strides[b]);
  return {out};
}
// data, reduce, lengths, indices, offsets, axis: of segments along the first dimension, by their lengths
Types segments(const Call& c) {
  const TensorType &t = whole(c.tensor(0)), &lengths = whole(c.tensor(2));
  need(c.none(3) && c.none(4) && c.integer(5) == 0 && lengths.sizes.size() == 1, "other segments");
  Dims out = t.sizes;
  out[0] = lengths.sizes[0];
  return {of_sizes(t, out)};
}
// Of rows against the places of a class, and of several classes: which of the arguments reduces.
template <size_t reduction>
Types margin_loss(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  need(t.sizes.size() == 2, "rows");
  return {of_sizes(t, c.integer(reduction) == 0 ? Dims{t.sizes[0]} : Dims{})};
}
Types margin_loss_of_several(const Call& c) {
  const TensorType& t = c.tensor(0);
  return {margin_loss<2>(c)[0], of_sizes(t, t.sizes)};
}

// How many, of all or along a dimension.
Types count(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  Dims out;
  const size_t along = c.none(1) ? t.sizes.size() : wrap_dim(c.integer(1), t.sizes.size());
  for (size_t d = 0; d < t.sizes.size() && !c.none(1); ++d)
    if (d != along) out.push_back(t.sizes[d]);
  return {TensorType::contiguous(DType::i64, out)};
}
Types trace(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.sizes.size() == 2 && t.numel() > 0, "a matrix is needed");
  return {TensorType::contiguous(is_integer(t.dtype) ? DType::i64 : t.dtype, {})};
}

// Which of the bounds each is between; bounds stand first in one of the two.
template <size_t values, size_t narrow>
Types places(const Call& c) {
  const DType dtype = c.flag(narrow) ? DType::i32 : DType::i64;
  return {TensorType::contiguous(dtype, whole(c.tensor(values)).sizes)};
}

Types loss(const Call& c) {  // self, target, weight, reduction
  const TensorType& t = whole(c.tensor(0));
  return {of_sizes(t, c.integer(3) == 0 ? t.sizes : Dims{})};
}

// Distances of all pairs of rows of two, and of one.
Types distances(const Call& c) {
  const TensorType &a = whole(c.tensor(0)), &b = whole(c.tensor(1));
  const size_t n = a.sizes.size();
  need(n >= 2 && b.sizes.size() == n && a.dtype == b.dtype, "dimensions");
  Dims out = broadcast(Dims(a.sizes.begin(), a.sizes.end() - 2), Dims(b.sizes.begin(), b.sizes.end() - 2));
  out.push_back(a.sizes[n - 2]);
  out.push_back(b.sizes[n - 2]);
  return {of_sizes(a, out)};
}
Types own_distances(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  need(t.sizes.size() == 2, "a matrix is needed");
  return {of_sizes(t, {floordiv(t.sizes[0] * (t.sizes[0] - 1), 2)})};
}

// Layer norm of half precision with parameters of f32, as autocast leaves it on a CPU: statistics of f32.
bool is_mixed(const TensorType& x, const TensorType& weight, const TensorType& bias) {
  const bool half = x.dtype == DType::bf16 || x.dtype == DType::f16;
  return half && x.device.is_cpu() && weight.dtype == DType::f32 && bias.dtype == DType::f32;
}
Types layer_norm(const Call& c) {  // x, normalized_shape, weight, bias, eps
  const TensorType& x = whole(c.tensor(0));
  need(is_mixed(x, c.tensor(2), c.tensor(3)), "another type");
  Dims outer = x.sizes;
  const size_t inner = c.ints(1).size();
  need(inner > 0 && inner <= outer.size(), "dimensions");
  std::fill(outer.end() - static_cast<std::ptrdiff_t>(inner), outer.end(), Sym(1));
  const TensorType statistics = TensorType::contiguous(DType::f32, outer);
  return {of_sizes(x, x.sizes), statistics, statistics};
}
Types layer_norm_backward(const Call& c) {  // gradient, x, normalized_shape, mean, rstd, weight, bias, mask
  const TensorType &g = c.tensor(0), &x = whole(c.tensor(1));
  need(is_mixed(x, c.tensor(5), c.tensor(6)) && g.dtype == x.dtype && g.sizes == x.sizes, "another type");
  const std::vector<bool> asked = c.flags(7);
  const TensorType none = TensorType::contiguous(DType::f32, {0});
  const TensorType affine = TensorType::contiguous(DType::f32, c.ints(2));
  return {asked.at(0) ? of_sizes(x, x.sizes) : none, asked.at(1) ? affine : none,
          asked.at(2) ? affine : none};
}

Types one_truth(const Call&) {
  return {TensorType::contiguous(DType::b1, {})};
}
Types histogram(const Call& c) {  // self, bins, min, max
  return {TensorType::contiguous(whole(c.tensor(0)).dtype, {c.integer(1)})};
}

// A matrix with these values on a diagonal: self, offset, dim1, dim2
Types diag_embed(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  const size_t n = t.sizes.size() + 1;
  need(wrap_dim(c.integer(2), n) + 2 == n && wrap_dim(c.integer(3), n) + 1 == n, "other dimensions");
  const Sym offset = c.integer(1), side = t.sizes.back() + (offset >= 0 ? offset : 0 - offset);
  Dims out = t.sizes;
  out.back() = side;
  out.push_back(side);
  return {of_sizes(t, out)};
}

// Sums, means or maxima of rows by bag: weight, indices, offsets, scale_grad_by_freq, mode, sparse,
// per_sample_weights, include_last_offset, padding_idx. What it notes for its backward hangs on the mode; of
// sums there is a shorter way for some layouts.
template <bool differentiated>
Types bags(const Call& c) {
  const TensorType &weight = whole(c.tensor(0)), &indices = whole(c.tensor(1)), &offsets = whole(c.tensor(2));
  need(weight.sizes.size() == 2 && weight.dtype == DType::f32 && weight.sizes[1] > 1, "another weight");
  need(indices.sizes.size() == 1 && offsets.sizes.size() == 1 && c.integer(8) < 0, "other bags");
  const bool last = c.flag(7), sums = c.integer(4) == 0, maxima = c.integer(4) == 2;
  const Sym count = offsets.sizes[0] - (last ? 1 : 0);
  need(count > 0, "no bags");
  const Sym noted = sums && !differentiated ? offsets.sizes[0] : count;
  const auto of = [&](Dims sizes) { return TensorType::contiguous(indices.dtype, std::move(sizes)); };
  return {of_sizes(weight, {count, weight.sizes[1]}), of({sums ? Sym(0) : indices.sizes[0]}), of({noted}),
          maxima ? of({count, weight.sizes[1]}) : of({noted})};
}

// The gradients of its weight, of so many rows, and of the weights of single indices.
Types bags_back(const Call& c) {
  const TensorType& grad = c.tensor(0);
  need(grad.sizes.size() == 2 && !c.flag(9), "a sparse gradient");
  return {of_sizes(grad, {c.integer(6), grad.sizes[1]})};
}
Types bag_weights_back(const Call& c) {
  const TensorType &grad = c.tensor(0), &indices = c.tensor(2);
  need(grad.sizes.size() == 2 && indices.sizes.size() == 1, "other bags");
  return {of_sizes(grad, indices.sizes)};
}

// Attention with its projections: query, key, value, embed_dim, num_head, four weights, mask, need_weights,
// average_attn_weights.
Types whole_attention(const Call& c) {
  const TensorType &query = whole(c.tensor(0)), &key = whole(c.tensor(1));
  need(query.sizes.size() == 3 && key.sizes.size() == 3, "no batch of sequences");
  Dims weights{query.sizes[0], query.sizes[1], key.sizes[1]};
  if (!c.flag(10)) return {of_sizes(query, query.sizes), TensorType::contiguous(DType::f32, {0})};
  if (!c.flag(11)) weights.insert(weights.begin() + 1, c.integer(4));
  return {of_sizes(query, query.sizes), of_sizes(query, weights)};
}

// As the view of that name, in memory of its own.
Result<Types> diagonal_copy(const ShapeCall& call) {
  auto types = find("aten.diagonal.default")->shape(call);
  if (!types) return types.error();
  return Types{of_sizes(types.value()[0], types.value()[0].sizes)};
}

constexpr SizedRow kSizedOthers[] = {
    {"aten._cdist_forward.default", covered<distances>},
    {"aten._cdist_backward.default", covered<same<1>>},
    {"aten._euclidean_dist.default", covered<distances>},
    {"aten._pdist_forward.default", covered<own_distances>},
    {"aten._pdist_backward.default", covered<same<1>>},
    {"aten.native_layer_norm.default", covered<layer_norm>},
    {"aten.native_layer_norm_backward.default", covered<layer_norm_backward>},
    {"aten._is_all_true.default", covered<one_truth>},
    {"aten._is_any_true.default", covered<one_truth>},
    {"aten.histc.default", covered<histogram>},
    {"aten.bucketize.Tensor", covered<places<0, 2>>},
    {"aten.searchsorted.Tensor", covered<places<1, 2>>},
    {"aten.isin.Tensor_Tensor", covered<truths>},
    {"aten.count_nonzero.default", covered<count>},
    {"aten.trace.default", covered<trace>},
    {"aten.diag_embed.default", covered<diag_embed>},
    {"aten.sort.default", covered<sorted>},
    {"aten.sort.stable", covered<sorted>},
    {"aten.take.default", covered<taken>},
    {"aten.diagonal_copy.default", diagonal_copy},
    {"aten.rot90.default", covered<turned>},
    {"aten.segment_reduce.default", covered<segments>},
    {"aten._segment_reduce_backward.default", covered<same<2>>},
    {"aten.multi_margin_loss.default", covered<margin_loss<5>>},
    {"aten.multi_margin_loss_backward.default", covered<same<1>>},
    {"aten.multilabel_margin_loss_forward.default", covered<margin_loss_of_several>},
    {"aten.multilabel_margin_loss_backward.default", covered<same<1>>},
    {"aten.binary_cross_entropy.default", covered<loss>},
    {"aten.binary_cross_entropy_backward.default", covered<same<1>>},
    {"aten.index_fill.int_Scalar", covered<same<0>>},
    {"aten.index_fill.int_Tensor", covered<same<0>>},
    {"aten.scatter_reduce.two", covered<same<0>>},
    {"aten.index_reduce.default", covered<same<0>>},
    {"aten.masked_scatter.default", covered<same<0>>},
    {"aten.channel_shuffle.default", covered<same<0>>},
    {"aten.renorm.default", covered<same<0>>},
    {"aten._embedding_bag.default", covered<bags<true>>},
    {"aten._embedding_bag_forward_only.default", covered<bags<false>>},
    {"aten._embedding_bag_backward.default", covered<bags_back>},
    {"aten._transformer_encoder_layer_fwd.default", covered<same<0>>},
    {"aten._native_multi_head_attention.default", covered<whole_attention>},
    {"aten._embedding_bag_per_sample_weights_backward.default", covered<bag_weights_back>},
};

}  // namespace

std::span<const SizedRow> sized_others() {
  return kSizedOthers;
}

}  // namespace vitrine::ops
