#include "core/recording/sized_types.h"

#include "core/ops/layout.h"

namespace vitrine::ops {

namespace {

// One number stands for every spatial dimension.
Sym spatial(const Dims& list, size_t i) {
  need(!list.empty(), "an empty list");
  return list.size() == 1 ? list[0] : list.at(i);
}

const TensorType& whole(const TensorType& t) {
  need(t.is_contiguous() && t.numel() > 0, "gaps, or no elements");
  return t;
}
TensorType of_sizes(const TensorType& like, Dims sizes) {
  return TensorType::contiguous(like.dtype, std::move(sizes));
}

// As large as an argument, in memory of its own.
template <size_t argument>
Types same(const Call& c) {
  const TensorType& t = whole(c.tensor(argument));
  return {of_sizes(t, t.sizes)};
}
template <size_t first, size_t second>
Types same_two(const Call& c) {
  const TensorType &a = whole(c.tensor(first)), &b = whole(c.tensor(second));
  return {of_sizes(a, a.sizes), of_sizes(b, b.sizes)};
}
// A copy, laid out as what is copied.
Types copy(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.numel() > 0, "no elements");
  return {{t.dtype, t.sizes, preserved_strides(t), 0}};
}
Types truths(const Call& c) {
  return {TensorType::contiguous(DType::b1, whole(c.tensor(0)).sizes)};
}
Types with_indices(const Call& c) {
  TensorType values = same<0>(c)[0], indices = values;
  indices.dtype = DType::i64;
  return {values, indices};
}
Types complex_of(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  need(t.dtype == DType::f32 || t.dtype == DType::f64, "another type");
  return {TensorType::contiguous(t.dtype == DType::f32 ? DType::c64 : DType::c128, t.sizes)};
}
Types magnitude(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.numel() > 0 && (t.dtype == DType::c64 || t.dtype == DType::c128), "another type");
  return {{t.dtype == DType::c64 ? DType::f32 : DType::f64, t.sizes, preserved_strides(t), 0}};
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

// floor((size + 2 pad - dilation (kernel - 1) - 1) / stride) + 1
Sym windows(const Sym& size, const Sym& kernel, const Sym& stride, const Sym& pad, const Sym& dilation) {
  need(stride > 0 && kernel > 0, "window");
  const Sym room = size + 2 * pad - dilation * (kernel - 1) - 1;
  need(room >= 0, "the window is larger than the input");
  return floordiv(room, stride) + 1;
}
TensorType pooled(const TensorType& t, const Call& c, const Dims& dilation, bool ceil, size_t n) {
  whole(t);
  need(!ceil && (t.sizes.size() == n + 1 || t.sizes.size() == n + 2), "windows that reach beyond the end");
  Dims kernel = c.ints(1), stride = c.ints(2), pad = c.ints(3), out = t.sizes;
  if (stride.empty()) stride = kernel;
  for (size_t i = 0; i < n; ++i) {
    Sym& size = out[out.size() - n + i];
    size = windows(size, spatial(kernel, i), spatial(stride, i), spatial(pad, i), spatial(dilation, i));
  }
  return of_sizes(t, out);
}
Types max_pool3d(const Call& c) {
  TensorType out = pooled(c.tensor(0), c, c.ints(4), c.flag(5), 3), indices = out;
  indices.dtype = DType::i64;
  return {out, indices};
}
Types avg_pool3d(const Call& c) {
  return {pooled(c.tensor(0), c, {1}, c.flag(4), 3)};
}
template <size_t n>
Types adaptive(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  need(t.sizes.size() == n + 1 || t.sizes.size() == n + 2, "dimensions");
  Dims wanted = c.ints(1), out = t.sizes;
  for (size_t i = 0; i < n; ++i) out[out.size() - n + i] = spatial(wanted, i);
  return {of_sizes(t, out)};
}
template <size_t n>
Types adaptive_max(const Call& c) {
  TensorType out = adaptive<n>(c)[0], indices = out;
  indices.dtype = DType::i64;
  return {out, indices};
}

// Volumes, and images of other types than f32: the rest has a row in the table.
void of_volumes(const TensorType& x, const TensorType& w) {
  const size_t n = x.sizes.size();
  need(n == 5 || (n == 4 && x.dtype != DType::f32 && x.device.is_cpu()), "no volumes");
  need(w.sizes.size() == n && x.dtype == w.dtype, "weights");
}
Types convolution(const Call& c) {
  const TensorType &x = whole(c.tensor(0)), &w = whole(c.tensor(1));
  of_volumes(x, w);
  need(!c.flag(6), "transposed");
  need(x.sizes[1] == w.sizes[1] * c.integer(8), "channels");
  const Dims stride = c.ints(3), padding = c.ints(4), dilation = c.ints(5);
  Dims out{x.sizes[0], w.sizes[0]};
  for (size_t i = 0; i + 2 < x.sizes.size(); ++i)
    out.push_back(windows(x.sizes[i + 2], w.sizes[i + 2], spatial(stride, i), spatial(padding, i),
                          spatial(dilation, i)));
  return {of_sizes(x, out)};
}

// grad_output, input, weight, ..., which are asked for
Types convolution_backward(const Call& c) {
  const TensorType &grad = whole(c.tensor(0)), &x = whole(c.tensor(1)), &w = whole(c.tensor(2));
  of_volumes(x, w);
  need(!c.flag(7), "transposed");
  const std::vector<bool> asked = c.flags(10);
  const auto where = [&](size_t i, Dims sizes) {
    return asked.at(i) ? of_sizes(x, std::move(sizes)) : TensorType::contiguous(DType::f32, {0});
  };
  return {where(0, x.sizes), where(1, w.sizes), where(2, {grad.sizes[1]})};
}

// Windows of images as columns, and back: input, kernel_size, dilation, padding, stride
Types im2col(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  need(t.sizes.size() == 4, "no batch of images");
  const Dims kernel = c.ints(1), dilation = c.ints(2), pad = c.ints(3), stride = c.ints(4);
  Sym count = 1;
  for (size_t i = 0; i < 2; ++i)
    count *= windows(t.sizes[i + 2], spatial(kernel, i), spatial(stride, i), spatial(pad, i),
                     spatial(dilation, i));
  return {of_sizes(t, {t.sizes[0], t.sizes[1] * spatial(kernel, 0) * spatial(kernel, 1), count})};
}
Types col2im(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  const Dims size = c.ints(1), kernel = c.ints(2), dilation = c.ints(3), pad = c.ints(4), stride = c.ints(5);
  need(t.sizes.size() == 3 && size.size() == 2, "no batch of images");
  const Sym area = spatial(kernel, 0) * spatial(kernel, 1);
  need(area > 0 && mod(t.sizes[1], area) == 0, "channels");
  Sym count = 1;
  for (size_t i = 0; i < 2; ++i)
    count *= windows(size[i], spatial(kernel, i), spatial(stride, i), spatial(pad, i), spatial(dilation, i));
  need(t.sizes[2] == count, "as many columns as there are windows");
  return {of_sizes(t, {t.sizes[0], floordiv(t.sizes[1], area), size[0], size[1]})};
}

// Resized to sizes that are given; its backward to those of the input.
Types resized(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  const Dims wanted = c.ints(1);
  need(t.sizes.size() == wanted.size() + 2, "dimensions");
  Dims out{t.sizes[0], t.sizes[1]};
  for (const Sym& size : wanted) {
    need(size > 0, "output size");
    out.push_back(size);
  }
  return {of_sizes(t, out)};
}
Types resized_back(const Call& c) {
  const TensorType& g = whole(c.tensor(0));
  const Dims back = c.ints(2);
  need(back.size() == g.sizes.size(), "dimensions");
  return {of_sizes(g, back)};
}
Types grid_sample(const Call& c) {
  const TensorType &t = whole(c.tensor(0)), &grid = whole(c.tensor(1));
  need(t.sizes.size() == 4 && grid.sizes.size() == 4 && t.sizes[0] == grid.sizes[0], "images");
  return {of_sizes(t, {t.sizes[0], t.sizes[1], grid.sizes[1], grid.sizes[2]})};
}
Types affine_grid(const Call& c) {
  const Dims size = c.ints(1);
  need(size.size() == 4 && c.tensor(0).numel() > 0, "images");
  return {of_sizes(c.tensor(0), {size[0], size[2], size[3], 2})};
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

// Fourier transforms along the last dimension. Windows that overlap lie in their order, too.
void along_last(const TensorType& t, const Dims& dims) {
  need(t.numel() > 0, "no elements");
  for (size_t d = 1; d < t.strides.size(); ++d) need(t.strides[d] <= t.strides[d - 1], "another order");
  need(dims.size() == 1 && wrap_dim(dims[0], t.sizes.size()) + 1 == t.sizes.size(), "another dimension");
}
Types fft_of_reals(const Call& c) {
  const TensorType& t = c.tensor(0);
  along_last(t, c.ints(1));
  need(t.dtype == DType::f32 || t.dtype == DType::f64, "another type");
  Dims sizes = t.sizes;
  if (c.flag(3)) sizes.back() = floordiv(t.sizes.back(), 2) + 1;
  return {TensorType::contiguous(t.dtype == DType::f32 ? DType::c64 : DType::c128, sizes)};
}
Types fft_to_reals(const Call& c) {
  const TensorType& t = c.tensor(0);
  along_last(t, c.ints(1));
  need(t.dtype == DType::c64 || t.dtype == DType::c128, "another type");
  Dims sizes = t.sizes;
  sizes.back() = c.integer(3);
  return {TensorType::contiguous(t.dtype == DType::c64 ? DType::f32 : DType::f64, sizes)};
}
Types fft(const Call& c) {
  along_last(c.tensor(0), c.ints(1));
  return same<0>(c);
}

// Operands of complex numbers, of one type.
Types complex_pair(const Call& c) {
  const TensorType &a = whole(c.tensor(0)), &b = whole(c.tensor(1));
  need(ir::is_complex(a.dtype) && a.dtype == b.dtype, "another type");
  need(!a.sizes.empty() && !b.sizes.empty(), "a number");
  return {of_sizes(a, broadcast(a.sizes, b.sizes))};
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

// A matrix with these values on its main diagonal: self, offset, dim1, dim2
Types diag_embed(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  const size_t n = t.sizes.size() + 1;
  need(c.integer(1) == 0 && wrap_dim(c.integer(2), n) + 2 == n && wrap_dim(c.integer(3), n) + 1 == n,
       "another diagonal");
  Dims out = t.sizes;
  out.push_back(t.sizes.back());
  return {of_sizes(t, out)};
}

// LAPACK's matrices lie column by column, and each tells of its failure.
TensorType by_columns(const TensorType& t, Dims sizes) {
  TensorType out = of_sizes(t, std::move(sizes));
  std::swap(out.strides.at(out.strides.size() - 1), out.strides.at(out.strides.size() - 2));
  out.strides[out.strides.size() - 1] = out.sizes[out.sizes.size() - 2];
  return out;
}
const TensorType& squares(const TensorType& t) {
  const size_t n = t.sizes.size();
  need(n >= 2 && t.numel() > 0 && t.sizes[n - 1] == t.sizes[n - 2], "no square matrices");
  return t;
}
TensorType told(const TensorType& t) {
  return TensorType::contiguous(DType::i32, Dims(t.sizes.begin(), t.sizes.end() - 2));
}
Types factored(const Call& c) {
  const TensorType& t = squares(c.tensor(0));
  return {by_columns(t, t.sizes), told(t)};
}
// A and B at these places, as many matrices in each: the result lies as B, by columns.
template <size_t first, size_t second>
Types solved_for(const Call& c) {
  const TensorType &a = squares(c.tensor(first)), &b = c.tensor(second);
  need(b.sizes.size() == a.sizes.size() && a.dtype == b.dtype && b.numel() > 0, "other matrices");
  for (size_t d = 0; d + 2 < a.sizes.size(); ++d) need(a.sizes[d] == b.sizes[d], "other matrices");
  return {by_columns(b, b.sizes)};
}
Types solved_by_factors(const Call& c) {  // LU, pivots, B, left, adjoint
  need(c.flag(3), "the other side");
  return solved_for<0, 2>(c);
}
// A, B, left, check_errors: the result, A's factors, pivots, failures
Types solved(const Call& c) {
  const TensorType &a = squares(c.tensor(0)), &b = whole(c.tensor(1));
  need(c.flag(2) && b.sizes.size() == a.sizes.size() && a.dtype == b.dtype, "vectors, or another side");
  for (size_t d = 0; d + 1 < a.sizes.size(); ++d) need(a.sizes[d] == b.sizes[d], "other matrices");
  Dims pivots(a.sizes.begin(), a.sizes.end() - 1);
  return {by_columns(b, b.sizes), by_columns(a, a.sizes), TensorType::contiguous(DType::i32, pivots),
          told(a)};
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

struct SizedRow {
  std::string_view op;
  ShapeRule types;
};
constexpr SizedRow kRows[] = {
    {"aten.convolution.default", covered<convolution>},
    {"aten.convolution_backward.default", covered<convolution_backward>},
    {"aten.max_pool3d_with_indices.default", covered<max_pool3d>},
    {"aten.max_pool3d_with_indices_backward.default", covered<same<1>>},
    {"aten.avg_pool3d.default", covered<avg_pool3d>},
    {"aten.avg_pool3d_backward.default", covered<same<1>>},
    {"aten.adaptive_max_pool2d.default", covered<adaptive_max<2>>},
    {"aten.adaptive_max_pool2d_backward.default", covered<same<1>>},
    {"aten.adaptive_max_pool3d.default", covered<adaptive_max<3>>},
    {"aten.adaptive_max_pool3d_backward.default", covered<same<1>>},
    {"aten._adaptive_avg_pool3d.default", covered<adaptive<3>>},
    {"aten._adaptive_avg_pool3d_backward.default", covered<same<1>>},
    {"aten._adaptive_avg_pool2d_backward.default", covered<same<1>>},
    {"aten.im2col.default", covered<im2col>},
    {"aten.col2im.default", covered<col2im>},
    {"aten.upsample_nearest1d.default", covered<resized>},
    {"aten.upsample_nearest1d_backward.default", covered<resized_back>},
    {"aten.upsample_nearest2d_backward.default", covered<resized_back>},
    {"aten.upsample_nearest3d.default", covered<resized>},
    {"aten.upsample_nearest3d_backward.default", covered<resized_back>},
    {"aten._upsample_nearest_exact1d.default", covered<resized>},
    {"aten._upsample_nearest_exact1d_backward.default", covered<resized_back>},
    {"aten._upsample_nearest_exact2d.default", covered<resized>},
    {"aten._upsample_nearest_exact2d_backward.default", covered<resized_back>},
    {"aten.upsample_linear1d.default", covered<resized>},
    {"aten.upsample_linear1d_backward.default", covered<resized_back>},
    {"aten.upsample_bilinear2d_backward.default", covered<resized_back>},
    {"aten.upsample_trilinear3d.default", covered<resized>},
    {"aten.upsample_trilinear3d_backward.default", covered<resized_back>},
    {"aten.upsample_bicubic2d.default", covered<resized>},
    {"aten.upsample_bicubic2d_backward.default", covered<resized_back>},
    {"aten.grid_sampler_2d.default", covered<grid_sample>},
    {"aten.grid_sampler_2d_backward.default", covered<same_two<1, 2>>},
    {"aten.affine_grid_generator.default", covered<affine_grid>},
    {"aten._cdist_forward.default", covered<distances>},
    {"aten._cdist_backward.default", covered<same<1>>},
    {"aten._euclidean_dist.default", covered<distances>},
    {"aten._pdist_forward.default", covered<own_distances>},
    {"aten._pdist_backward.default", covered<same<1>>},
    {"aten._fft_r2c.default", covered<fft_of_reals>},
    {"aten._fft_c2r.default", covered<fft_to_reals>},
    {"aten._fft_c2c.default", covered<fft>},
    {"aten.mul.Tensor", covered<complex_pair>},
    {"aten.add.Tensor", covered<complex_pair>},
    {"aten.sub.Tensor", covered<complex_pair>},
    {"aten.native_layer_norm.default", covered<layer_norm>},
    {"aten.native_layer_norm_backward.default", covered<layer_norm_backward>},
    {"aten._is_all_true.default", covered<one_truth>},
    {"aten._is_any_true.default", covered<one_truth>},
    {"aten.histc.default", covered<histogram>},
    {"aten.replication_pad1d_backward.default", covered<same<1>>},
    {"aten.replication_pad2d_backward.default", covered<same<1>>},
    {"aten.replication_pad3d_backward.default", covered<same<1>>},
    {"aten.polar.default", covered<complex_of>},
    {"aten.abs.default", covered<magnitude>},
    {"aten.complex.default", covered<complex_of>},
    {"aten.bucketize.Tensor", covered<places<0, 2>>},
    {"aten.searchsorted.Tensor", covered<places<1, 2>>},
    {"aten.isin.Tensor_Tensor", covered<truths>},
    {"aten.count_nonzero.default", covered<count>},
    {"aten.trace.default", covered<trace>},
    {"aten.diag_embed.default", covered<diag_embed>},
    {"aten.sort.default", covered<with_indices>},
    {"aten.binary_cross_entropy.default", covered<loss>},
    {"aten.binary_cross_entropy_backward.default", covered<same<1>>},
    {"aten.index_put.default", covered<copy>},
    {"aten.index_fill.int_Scalar", covered<same<0>>},
    {"aten.index_fill.int_Tensor", covered<same<0>>},
    {"aten.scatter_reduce.two", covered<same<0>>},
    {"aten.index_reduce.default", covered<same<0>>},
    {"aten.masked_scatter.default", covered<same<0>>},
    {"aten.channel_shuffle.default", covered<same<0>>},
    {"aten.renorm.default", covered<same<0>>},
    {"aten.linalg_matrix_exp.default", covered<same<0>>},
    {"aten.linalg_inv_ex.default", covered<factored>},
    {"aten.linalg_cholesky_ex.default", covered<factored>},
    {"aten._linalg_solve_ex.default", covered<solved>},
    {"aten.linalg_solve_triangular.default", covered<solved_for<0, 1>>},
    {"aten.linalg_lu_solve.default", covered<solved_by_factors>},
    {"aten.fill.Scalar", covered<copy>},
    {"aten._embedding_bag.default", covered<bags<true>>},
    {"aten._embedding_bag_forward_only.default", covered<bags<false>>},
    {"aten._embedding_bag_backward.default", covered<bags_back>},
    {"aten._transformer_encoder_layer_fwd.default", covered<same<0>>},
    {"aten._native_multi_head_attention.default", covered<whole_attention>},
    {"aten._embedding_bag_per_sample_weights_backward.default", covered<bag_weights_back>},
};

}  // namespace

ShapeRule sized_types(std::string_view op) {
  for (const SizedRow& row : kRows)
    if (op == row.op) return row.types;
  return nullptr;
}

}  // namespace vitrine::ops
