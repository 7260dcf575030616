// Windows of images and volumes: pools, convolutions, columns; and what is sampled anew.
#include "core/ops/sized/rules.h"

namespace vitrine::ops {

namespace {

// floor((size + 2 pad - dilation (kernel - 1) - 1) / stride) + 1, whatever the pad.
Sym windows(const Sym& size, const Sym& kernel, const Sym& stride, const Sym& pad, const Sym& dilation) {
  need(stride > 0 && kernel > 0, "window");
  const Sym room = size + 2 * pad - dilation * (kernel - 1) - 1;
  need(room >= 0, "the window is larger than the input");
  return floordiv(room, stride) + 1;
}
// What a window makes of an element, beside what others make of theirs.
Sym spread(const Sym& size, const Sym& kernel, const Sym& stride, const Sym& pad, const Sym& dilation,
           const Sym& output_padding) {
  const Sym out = (size - 1) * stride - 2 * pad + dilation * (kernel - 1) + output_padding + 1;
  need(out > 0, "no elements");
  return out;
}
TensorType pooled(const TensorType& t, const Call& c, const Dims& dilation, bool ceil, size_t n) {
  whole(t);
  need(t.sizes.size() == n + 1 || t.sizes.size() == n + 2, "dimensions");
  Dims kernel = c.ints(1), stride = c.ints(2), pad = c.ints(3), out = t.sizes;
  if (stride.empty()) stride = kernel;
  for (size_t i = 0; i < n; ++i) {
    Sym& size = out[out.size() - n + i];
    size = pooled_size(size, spatial(kernel, i), spatial(stride, i), spatial(pad, i), spatial(dilation, i),
                       ceil);
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
  const bool transposed = c.flag(6);
  const Sym groups = c.integer(8);
  need(x.sizes[1] == (transposed ? w.sizes[0] : w.sizes[1] * groups), "channels");
  const Dims stride = c.ints(3), padding = c.ints(4), dilation = c.ints(5), more = c.ints(7);
  Dims out{x.sizes[0], transposed ? w.sizes[1] * groups : w.sizes[0]};
  for (size_t i = 0; i + 2 < x.sizes.size(); ++i) {
    const Sym &size = x.sizes[i + 2], &kernel = w.sizes[i + 2];
    out.push_back(transposed
                      ? spread(size, kernel, spatial(stride, i), spatial(padding, i), spatial(dilation, i),
                               spatial(more, i))
                      : windows(size, kernel, spatial(stride, i), spatial(padding, i), spatial(dilation, i)));
  }
  return {of_sizes(x, out)};
}

// grad_output, input, weight, ..., which are asked for
Types convolution_backward(const Call& c) {
  const TensorType &grad = whole(c.tensor(0)), &x = whole(c.tensor(1)), &w = whole(c.tensor(2));
  of_volumes(x, w);
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

constexpr SizedRow kSizedWindows[] = {
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
    {"aten._upsample_bilinear2d_aa.default", covered<resized>},
    {"aten._upsample_bilinear2d_aa_backward.default", covered<resized_back>},
    {"aten._upsample_bicubic2d_aa.default", covered<resized>},
    {"aten._upsample_bicubic2d_aa_backward.default", covered<resized_back>},
    {"aten.grid_sampler_2d.default", covered<grid_sample>},
    {"aten.grid_sampler_2d_backward.default", covered<same_two<1, 2>>},
    {"aten.affine_grid_generator.default", covered<affine_grid>},
    {"aten.replication_pad1d_backward.default", covered<same<1>>},
    {"aten.replication_pad2d_backward.default", covered<same<1>>},
    {"aten.replication_pad3d_backward.default", covered<same<1>>},
};

}  // namespace

std::span<const SizedRow> sized_windows() {
  return kSizedWindows;
}

}  // namespace vitrine::ops
