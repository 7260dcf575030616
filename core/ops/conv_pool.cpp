// Convolution, pooling and resampling, computed by PyTorch's kernels.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

// NHWC in, NHWC out; else contiguous.
TensorType like_layout(const TensorType& t, Dims sizes) {
  if (suggests_channels_last(t)) return {t.dtype, sizes, channels_last_strides(sizes), 0};
  return TensorType::contiguous(t.dtype, std::move(sizes));
}

// PyTorch convolves rows as images, and makes them contiguous before: what is so already keeps its strides.
TensorType of_rows(DType dtype, const Dims& sizes, const TensorType& x, const TensorType& weight) {
  TensorType out = TensorType::contiguous(dtype, sizes);
  const auto innermost = [](const TensorType& t) { return suggests_channels_last(rows_as_images(t)); };
  if (innermost(weight) || (x.is_contiguous() && innermost(x)))
    out.strides = {sizes[1] * sizes[2], 1, sizes[1]};
  return out;
}

Types convolution(const Call& c) {
  const TensorType &x = c.tensor(0), &w = c.tensor(1);
  const TensorType* bias = c.tensor_or_null(2);
  size_t n = x.sizes.size();
  need((n == 3 || n == 4) && w.sizes.size() == n && x.numel() > 0, "dimensions");
  need(x.dtype == DType::f32 && w.dtype == x.dtype && (!bias || bias->dtype == x.dtype), "types");
  bool transposed = c.flag(6);
  const Sym groups = c.integer(8);
  need(groups > 0 && x.sizes[1] == (transposed ? w.sizes[0] : w.sizes[1] * groups), "channels");
  need(
      !bias || (bias->sizes.size() == 1 && bias->sizes[0] == (transposed ? w.sizes[1] * groups : w.sizes[0])),
      "bias");
  Dims stride = c.ints(3), padding = c.ints(4), dilation = c.ints(5), extra = c.ints(7);
  Dims out{x.sizes[0], transposed ? w.sizes[1] * groups : w.sizes[0]};
  for (size_t i = 0; i + 2 < n; ++i) {
    const Sym reach = spatial(dilation, i) * (w.sizes[i + 2] - 1) + 1, step = spatial(stride, i);
    need(step > 0, "stride");
    const Sym size = transposed
                         ? (x.sizes[i + 2] - 1) * step - 2 * spatial(padding, i) + reach + spatial(extra, i)
                         : floordiv(x.sizes[i + 2] + 2 * spatial(padding, i) - reach, step) + 1;
    need(size > 0 && (transposed || x.sizes[i + 2] + 2 * spatial(padding, i) >= reach), "output size");
    out.push_back(size);
  }
  if (n == 3) return {of_rows(x.dtype, out, x, w)};
  bool nhwc = suggests_channels_last(x) || suggests_channels_last(w);
  if (nhwc) return {{x.dtype, out, channels_last_strides(out), 0}};
  return {TensorType::contiguous(x.dtype, out)};
}

// cuDNN's convolution with a bias, perhaps a tensor added, and relu behind it; lists from `stride` on.
Types with_relu(const Call& c, size_t stride) {
  const TensorType &x = c.tensor(0), &w = c.tensor(1);
  need(x.sizes.size() == 4 && w.sizes.size() == 4 && x.numel() > 0 && w.dtype == x.dtype, "images");
  need(x.sizes[1] == w.sizes[1] * c.integer(stride + 3), "channels");
  Dims step = c.ints(stride), pad = c.ints(stride + 1), dilation = c.ints(stride + 2);
  Dims out{x.sizes[0], w.sizes[0]};
  for (size_t i = 0; i < 2; ++i) {
    const Sym reach = spatial(dilation, i) * (w.sizes[i + 2] - 1) + 1;
    const Sym room = x.sizes[i + 2] + 2 * spatial(pad, i) - reach;
    need(spatial(step, i) > 0 && room >= 0, "output size");
    out.push_back(floordiv(room, spatial(step, i)) + 1);
  }
  const bool nhwc = suggests_channels_last(x) || suggests_channels_last(w);
  if (nhwc) return {{x.dtype, out, channels_last_strides(out), 0}};
  return {TensorType::contiguous(x.dtype, out)};
}
Types convolution_relu(const Call& c) {
  return with_relu(c, 3);
}
Types convolution_add_relu(const Call& c) {
  Types out = with_relu(c, 5);
  need(c.tensor(2).sizes == out[0].sizes && c.tensor(2).dtype == out[0].dtype, "what is added");
  return out;
}

TensorType pooled2d(const Call& c, const Dims& dilation, bool ceil) {
  const TensorType& t = c.tensor(0);
  need((t.sizes.size() == 3 || t.sizes.size() == 4) && t.numel() > 0 && ir::is_float(t.dtype), "input");
  Dims kernel = c.ints(1), stride = c.ints(2), pad = c.ints(3), out = t.sizes;
  if (stride.empty()) stride = kernel;
  for (size_t i = 0; i < 2; ++i) {
    Sym& size = out[out.size() - 2 + i];
    size = pooled_size(size, spatial(kernel, i), spatial(stride, i), spatial(pad, i), spatial(dilation, i),
                       ceil);
  }
  return like_layout(t, out);
}
Types max_pool2d(const Call& c) {
  TensorType out = pooled2d(c, c.ints(4), c.flag(5)), indices = out;
  indices.dtype = DType::i64;
  return {out, indices};
}
Types avg_pool2d(const Call& c) {
  return {pooled2d(c, {1}, c.flag(4))};
}
Types adaptive_avg_pool2d(const Call& c) {
  const TensorType& t = c.tensor(0);
  need((t.sizes.size() == 3 || t.sizes.size() == 4) && t.numel() > 0 && ir::is_float(t.dtype), "input");
  Dims wanted = c.ints(1), out = t.sizes;
  for (size_t i = 0; i < 2; ++i) out[out.size() - 2 + i] = spatial(wanted, i);
  return {like_layout(t, out)};
}
Types upsample(const Call& c) {
  const TensorType& t = c.tensor(0);
  Dims wanted = c.ints(1);
  need(t.sizes.size() == 4 && wanted.size() == 2 && t.numel() > 0 && ir::is_float(t.dtype), "input");
  need(wanted[0] > 0 && wanted[1] > 0, "output size");
  return {like_layout(t, {t.sizes[0], t.sizes[1], wanted[0], wanted[1]})};
}

}  // namespace

constexpr Family kFamily = Family::matmul;
constexpr Family kWindow = Family::reduction;
constexpr Lower kLower = Lower::opaque;
constexpr std::string_view kPass = "borrowed(\"made by a pass, behind the derivative\")";
constexpr std::string_view kKernel = "borrowed(\"another kernel of PyTorch's\")";

const std::vector<OpRow> kConvPool = {
    {"aten.convolution.default",
     "input, weight, bias, stride, padding, dilation, transposed, output_padding, groups", kFamily,
     Lower::library, covered<convolution>, "", kRule, "convolution in 1 or 2 dimensions"},
    {"aten.cudnn_convolution_relu.default", "self, weight, bias, stride, padding, dilation, groups", kFamily,
     Lower::library, covered<convolution_relu>, "", kPass, "relu(convolution + bias), on a GPU"},
    {"aten.cudnn_convolution_add_relu.default",
     "self, weight, z, alpha, bias, stride, padding, dilation, groups", kFamily, Lower::library,
     covered<convolution_add_relu>, "", kPass, "relu(convolution + alpha z + bias), on a GPU"},
    {"aten.max_pool2d_with_indices.default",
     "self, kernel_size, stride=[], padding=[0], dilation=[1], ceil_mode=False", kWindow, kLower,
     covered<max_pool2d>, "", kRule, "largest of each window, and where"},
    {"aten.avg_pool2d.default",
     "self, kernel_size, stride=[], padding=[0], ceil_mode=False, count_include_pad=True, "
     "divisor_override=None",
     kWindow, kLower, covered<avg_pool2d>, "", kRule, "mean of each window"},
    {"aten._adaptive_avg_pool2d.default", "self, output_size", kWindow, kLower, covered<adaptive_avg_pool2d>,
     "", kRule, "mean of as many windows as asked"},
    {"aten.upsample_nearest2d.default", "self, output_size, scales_h=None, scales_w=None", Family::memory,
     kLower, covered<upsample>, "", kRule, "resized, nearest element"},
    {"aten.upsample_bilinear2d.default", "self, output_size, align_corners, scales_h=None, scales_w=None",
     Family::memory, kLower, covered<upsample>, "", kKernel, "resized, linear in both directions"},
};

}  // namespace vitrine::ops
