// What PyTorch's own backward is made of, for the operators that have one of their own. Each is the
// derivative of the operator that its name begins with, times the gradient of that one's result.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

// Floating tensors of one type (masks may be bool), as an element-wise loop lays them out.
Types alike(const Call& c, size_t grad, size_t other) {
  const TensorType &a = c.tensor(grad), &b = c.tensor(other);
  need(ir::is_float(a.dtype), "not a floating type");
  need(b.dtype == a.dtype || b.dtype == DType::b1, "types differ");
  TensorType mask = b;
  mask.dtype = a.dtype;
  return {elementwise({a, mask}, a.dtype, a.dtype)};
}
Types of_two(const Call& c) {
  return alike(c, 0, 1);
}
// Eager's loop has self first.
Types by_self(const Call& c) {
  return alike(c, 1, 0);
}
Types of_last(const Call& c) {
  return alike(c, 0, c.size() - 1);
}
// The buffer is empty on a GPU.
Types log_sigmoid_backward(const Call& c) {
  return alike(c, 0, 1);
}
Types glu_backward(const Call& c) {
  const TensorType &grad = c.tensor(0), &self = c.tensor(1);
  need(ir::is_float(self.dtype) && grad.dtype == self.dtype && !self.sizes.empty(), "types");
  return {TensorType::contiguous(self.dtype, self.sizes)};
}
Types mse_backward(const Call& c) {
  need(c.tensor(0).sizes.empty() || c.integer(3) == 0, "the gradient has dimensions");
  const TensorType &self = c.tensor(1), &target = c.tensor(2);
  need(ir::is_float(self.dtype) && self.dtype == target.dtype, "types differ");
  need(self.sizes == target.sizes && self.strides == target.strides, "layouts differ");
  need(c.tensor(0).dtype == c.tensor(1).dtype, "types differ");
  return pointwise(c, {1});
}
Types softmax_backward(const Call& c) {
  const TensorType &grad = c.tensor(0), &output = c.tensor(1);
  need(ir::is_float(grad.dtype) && grad.dtype == output.dtype && c.dtype(3) == grad.dtype, "types differ");
  need(grad.sizes == output.sizes, "sizes differ");
  wrap_dim(c.integer(2), grad.sizes.size());
  return {TensorType::contiguous(grad.dtype, grad.sizes)};
}
// Scores (n, classes, ...), class indices (n, ...).
Types nll_backward_of(const Call& c, size_t dims) {
  const TensorType &scores = c.tensor(1), &target = c.tensor(2);
  need(ir::is_float(scores.dtype) && scores.sizes.size() == dims && target.dtype == DType::i64, "types");
  ir::Dims places = scores.sizes;
  places.erase(places.begin() + 1);
  need(target.sizes == places, "sizes");
  need(c.tensor(0).dtype == scores.dtype && c.tensor(6).dtype == scores.dtype, "types differ");
  return {TensorType::contiguous(scores.dtype, scores.sizes)};
}
Types nll_backward(const Call& c) {
  return nll_backward_of(c, 2);
}
Types nll2d_backward(const Call& c) {
  return nll_backward_of(c, 4);
}

// Zeros of the sizes given, with the gradient in a part of them.
Types part_of(const Call& c) {
  return {TensorType::contiguous(c.tensor(0).dtype, c.ints(1))};
}
Types embedding_backward(const Call& c) {
  const TensorType &grad = c.tensor(0), &index = c.tensor(1);
  need(ir::is_float(grad.dtype) && (index.dtype == DType::i64 || index.dtype == DType::i32), "types");
  need(grad.sizes.size() == index.sizes.size() + 1, "dimensions");
  return {TensorType::contiguous(grad.dtype, {c.integer(2), grad.sizes.back()})};
}

// An output that is not asked for is undefined.
TensorType or_undefined(bool asked, TensorType type) {
  return asked ? type : TensorType::contiguous(DType::f32, {0});
}
bool asked(const Call& c, size_t mask, size_t i) {
  return c.flags(mask).at(i);
}

Types layer_norm_backward(const Call& c) {
  const TensorType& x = c.tensor(1);
  need(ir::is_float(x.dtype) && c.tensor(0).dtype == x.dtype && c.tensor(0).sizes == x.sizes, "types");
  for (size_t i : {5, 6}) {
    const TensorType* p = c.tensor_or_null(i);
    need(!p || p->dtype == x.dtype, "mixed types");
  }
  need(x.numel() > 0, "no elements");
  const TensorType affine = TensorType::contiguous(x.dtype, c.ints(2));
  return {or_undefined(asked(c, 7, 0), TensorType::contiguous(x.dtype, x.sizes)),
          or_undefined(asked(c, 7, 1), affine), or_undefined(asked(c, 7, 2), affine)};
}

Types group_norm_backward(const Call& c) {
  const TensorType &grad = c.tensor(0), &x = c.tensor(1), *weight = c.tensor_or_null(4);
  // The statistics in f32 with the parameters beside half precision, or all of one type.
  const DType statistics = c.tensor(2).dtype;
  const bool half = x.device.is_cpu() && (x.dtype == DType::bf16 || x.dtype == DType::f16);
  need(half || x.dtype == DType::f32 || x.dtype == DType::f64, "types");
  need(statistics == x.dtype || (half && statistics == DType::f32), "mixed types");
  need(grad.dtype == x.dtype && c.tensor(3).dtype == statistics, "mixed types");
  need(!weight || weight->dtype == statistics, "mixed types");
  need(x.is_contiguous() && grad.is_contiguous() && grad.sizes == x.sizes && x.numel() > 0, "layout");
  need(x.numel() == c.integer(5) * c.integer(6) * c.integer(7), "sizes");
  const TensorType affine = TensorType::contiguous(weight ? weight->dtype : x.dtype, {c.integer(6)});
  return {or_undefined(asked(c, 9, 0), TensorType::contiguous(x.dtype, x.sizes)),
          or_undefined(asked(c, 9, 1), affine), or_undefined(asked(c, 9, 2), affine)};
}

// On a GPU half precision has statistics of f32, and the gradient lies as the image.
Types batch_norm_backward_on_gpu(const Call& c) {
  const TensorType &grad = c.tensor(0), &x = c.tensor(1), *weight = c.tensor_or_null(2);
  const bool half = x.dtype == DType::f16 || x.dtype == DType::bf16;
  need(half || x.dtype == DType::f32, "types");
  need(grad.dtype == x.dtype && grad.sizes == x.sizes && x.sizes.size() >= 2 && x.numel() > 0, "types");
  for (size_t i : {2, 3, 4, 5, 6}) {
    const TensorType* p = c.tensor_or_null(i);
    need(!p || p->dtype == DType::f32 || (i < 5 && p->dtype == x.dtype), "mixed types");
  }
  need(x.is_contiguous() || is_channels_last(x), "layout");
  const TensorType affine = TensorType::contiguous(weight ? weight->dtype : DType::f32, {x.sizes[1]});
  return {or_undefined(asked(c, 9, 0), {x.dtype, x.sizes, x.strides, 0}),
          or_undefined(asked(c, 9, 1), affine), or_undefined(asked(c, 9, 2), affine)};
}

Types batch_norm_backward(const Call& c) {
  const TensorType& x = c.tensor(1);
  if (x.device.is_cuda() && c.flag(7)) return batch_norm_backward_on_gpu(c);
  need(x.dtype == DType::f32 || x.dtype == DType::f64, "types");
  for (size_t i : {0, 2, 3, 4, 5, 6}) {
    const TensorType* p = c.tensor_or_null(i);
    need(!p || p->dtype == x.dtype, "mixed types");
  }
  need(x.sizes.size() >= 2 && x.is_contiguous() && c.tensor(0).is_contiguous() && x.numel() > 0, "layout");
  const TensorType affine = TensorType::contiguous(x.dtype, {x.sizes[1]});
  return {or_undefined(asked(c, 9, 0), TensorType::contiguous(x.dtype, x.sizes)),
          or_undefined(asked(c, 9, 1), affine), or_undefined(asked(c, 9, 2), affine)};
}

Types rms_norm(const Call& c) {
  const TensorType &x = c.tensor(0), *weight = c.tensor_or_null(2);
  const ir::Dims shape = c.ints(1);
  need(x.dtype == DType::f32 && (!weight || weight->dtype == x.dtype), "types");
  need(shape.size() <= x.sizes.size(), "normalised shape");
  ir::Dims rows = x.sizes;
  for (size_t i = 0; i < shape.size(); ++i) rows[rows.size() - 1 - i] = 1;
  return {TensorType::contiguous(x.dtype, x.sizes), TensorType::contiguous(x.dtype, rows)};
}
Types rms_norm_backward(const Call& c) {
  const TensorType &x = c.tensor(1), *weight = c.tensor_or_null(4);
  need(asked(c, 5, 0) && asked(c, 5, 1), "an output is not asked for");
  need(ir::is_float(x.dtype) && c.tensor(0).dtype == x.dtype && weight && weight->dtype == x.dtype, "types");
  return {TensorType::contiguous(x.dtype, x.sizes), TensorType::contiguous(x.dtype, weight->sizes)};
}
Types cudnn_batch_norm_backward(const Call& c) {
  const TensorType &x = c.tensor(0), &grad = c.tensor(1), &weight = c.tensor(2);
  need(ir::is_float(x.dtype) && grad.dtype == x.dtype && weight.dtype == x.dtype, "types");
  need(x.is_contiguous() && grad.is_contiguous() && x.sizes.size() >= 2, "layout");
  const TensorType channels = TensorType::contiguous(x.dtype, {x.sizes[1]});
  return {TensorType::contiguous(x.dtype, x.sizes), channels, channels};
}

// cuDNN's kernels with the channels innermost: where image or weight lies so, all results do.
Types channels_last_backward(const Call& c) {
  const TensorType &grad = c.tensor(0), &x = c.tensor(1), &w = c.tensor(2);
  need(w.dtype == x.dtype && grad.dtype == x.dtype && x.numel() > 0 && grad.sizes.size() == 4, "types");
  need(!c.flag(7) && c.integer(9) == 1, "groups");
  const auto lies = [](const TensorType& t) {
    return TensorType{t.dtype, t.sizes, channels_last_strides(t.sizes), 0};
  };
  return {or_undefined(asked(c, 10, 0), lies(x)), or_undefined(asked(c, 10, 1), lies(w)),
          or_undefined(asked(c, 10, 2), TensorType::contiguous(x.dtype, {grad.sizes[1]}))};
}

Types convolution_backward(const Call& c) {
  const TensorType &grad = c.tensor(0), &x = c.tensor(1), &w = c.tensor(2);
  if (x.device.is_cuda() && x.sizes.size() == 4 && (suggests_channels_last(x) || suggests_channels_last(w)))
    return channels_last_backward(c);
  need(x.dtype == DType::f32 && w.dtype == x.dtype && grad.dtype == x.dtype && x.numel() > 0, "types");
  need(x.sizes.size() == 3 || x.sizes.size() == 4, "dimensions");
  const bool rows = x.sizes.size() == 3;
  for (const TensorType* t : {&grad, &x, &w})
    need(t->is_contiguous() && !suggests_channels_last(rows ? rows_as_images(*t) : *t), "layout");
  return {or_undefined(asked(c, 10, 0), TensorType::contiguous(x.dtype, x.sizes)),
          or_undefined(asked(c, 10, 1), TensorType::contiguous(x.dtype, w.sizes)),
          or_undefined(asked(c, 10, 2), TensorType::contiguous(x.dtype, {grad.sizes[1]}))};
}

// As the tensor that was pooled: NHWC or contiguous.
Types pooling_backward(const Call& c) {
  const TensorType& x = c.tensor(1);
  need(ir::is_float(x.dtype) && c.tensor(0).dtype == x.dtype && x.numel() > 0, "types");
  if (suggests_channels_last(x)) return {{x.dtype, x.sizes, channels_last_strides(x.sizes), 0}};
  return {TensorType::contiguous(x.dtype, x.sizes)};
}

// Query, key and value are (batch, heads, length, features), their gradients (batch, length, heads, features)
// in memory.
Types attention_backward(const Call& c) {
  Types out;
  for (size_t i : {1, 2, 3}) {
    const TensorType& t = c.tensor(i);
    need(t.sizes.size() == 4 && ir::is_float(t.dtype) && t.dtype == c.tensor(0).dtype && t.numel() > 0,
         "types");
    const Sym heads = t.sizes[1], length = t.sizes[2], features = t.sizes[3];
    out.push_back({t.dtype, t.sizes, {heads * length * features, features, heads * features, 1}, 0});
  }
  return out;
}

}  // namespace

constexpr Lower kOpaque = Lower::opaque;
constexpr Family kPoint = Family::pointwise;
constexpr Lower kLoop = Lower::pointwise;
// A second derivative (create_graph) runs under autograd itself.
constexpr std::string_view kSecond = "borrowed(\"asked for second derivatives alone\")";

const std::vector<OpRow> kBackward = {
    {"aten.threshold_backward.default", "grad_output, self, threshold", kPoint, kLoop, covered<by_self>,
     "where(b <= c, 0, a)", kSecond, "0 where self is not above the threshold"},
    {"aten.hardtanh_backward.default", "grad_output, self, min_val, max_val", kPoint, kLoop, covered<of_two>,
     "where((b > c) & (b < d), a, 0)", kSecond, "0 where self was limited", "",
     "where((b <= c) | (b >= d), 0, a)"},
    {"aten.leaky_relu_backward.default", "grad_output, self, negative_slope, self_is_result", kPoint, kLoop,
     covered<by_self>, "where(b > 0, a, a * c)", kSecond, "times the slope below 0"},
    {"aten.tanh_backward.default", "grad_output, output", kPoint, kLoop, covered<of_two>, "a * (1 - b * b)",
     kSecond, "times 1 - tanh^2"},
    {"aten.sigmoid_backward.default", "grad_output, output", kPoint, kLoop, covered<of_two>,
     "a * (1 - b) * b", kSecond, "times (1 - s) s"},
    {"aten.silu_backward.default", "grad_output, self", kPoint, kLoop, covered<of_two>,
     "a * sigmoid(b) * (1 + b * (1 - sigmoid(b)))", kSecond, "times s (1 + x (1 - s))"},
    {"aten.native_dropout_backward.default", "grad_output, mask, scale", kPoint, kLoop, covered<of_two>,
     "a * (b * c)", kSecond, "0 where elements were zeroed"},
    {"aten.gelu_backward.default", "grad_output, self, *, approximate=\"none\"", kPoint, Lower::decompose,
     covered<of_two>, "", kSecond, "times the distribution function and x times the density"},
    {"aten.mse_loss_backward.default", "grad_output, self, target, reduction", kPoint, Lower::decompose,
     covered<mse_backward>, "", kSecond, "times 2 (self - target) / n"},
    {"aten._softmax_backward_data.default", "grad_output, output, dim, input_dtype", Family::reduction,
     Lower::decompose, covered<softmax_backward>, "", kSecond, "(g - sum of g y) y"},
    {"aten._log_softmax_backward_data.default", "grad_output, output, dim, input_dtype", Family::reduction,
     Lower::decompose, covered<softmax_backward>, "", kSecond, "g - exp(y) times the sum of g"},
    {"aten.nll_loss_backward.default",
     "grad_output, self, target, weight, reduction, ignore_index, total_weight", kPoint, Lower::decompose,
     covered<nll_backward>, "", kSecond, "the gradient at the right class, 0 elsewhere"},
    {"aten.nll_loss2d_backward.default",
     "grad_output, self, target, weight, reduction, ignore_index, total_weight", kPoint, Lower::decompose,
     covered<nll2d_backward>, "", kSecond, "the same at each place of pictures"},
    {"aten.elu_backward.default", "grad_output, alpha, scale, input_scale, is_result, self_or_result", kPoint,
     kLoop, covered<of_last>,
     "where(f > 0, a * c, where(e, a * d * (f + b * c), a * d * (b * c) * exp(f * d)))", kSecond,
     "times alpha exp(self) below 0", "",
     "where(f <= 0, where(e, a * d * (f + b * c), a * d * (b * c) * exp(f * d)), a * c)"},
    {"aten.mish_backward.default", "grad_output, self", kPoint, kLoop, covered<of_two>,
     "a * (tanh(log1p(exp(b))) + b * sigmoid(b) * (1 - tanh(log1p(exp(b))) * tanh(log1p(exp(b)))))", kSecond,
     "times the derivative of self tanh(softplus(self))"},
    {"aten.softplus_backward.default", "grad_output, self, beta, threshold", kPoint, kLoop, covered<of_two>,
     "where(b * c > d, a, a * exp(b * c) / (exp(b * c) + 1))", kSecond, "times sigmoid(beta self)"},
    {"aten.hardsigmoid_backward.default", "grad_output, self", kPoint, kLoop, covered<of_two>,
     "where((b > -3) & (b < 3), a * 0.1666666716337204, 0)", kSecond, "a sixth between -3 and 3"},
    {"aten.hardswish_backward.default", "grad_output, self", kPoint, kLoop, covered<of_two>,
     "where(b <= -3, 0, where(b >= 3, a, a * (b / 3 + 0.5)))", kSecond,
     "times self / 3 + 1/2 between -3 and 3", "", "where(b <= -3, 0, where(b < 3, a * (b / 3 + 0.5), a))"},
    {"aten.hardshrink_backward.default", "grad_out, self, lambd", kPoint, kLoop, covered<of_two>,
     "where((b > c) | (b < -c), a, 0)", kSecond, "0 where self is near 0", "",
     "where((b >= -c) & (b <= c), 0, a)"},
    {"aten.softshrink_backward.default", "grad_output, self, lambd", kPoint, kLoop, covered<of_two>,
     "where((b > c) | (b < -c), a, 0)", kSecond, "0 where self is near 0", "",
     "where((b >= -c) & (b <= c), 0, a)"},
    {"aten.log_sigmoid_backward.default", "grad_output, self, buffer", kPoint, kLoop,
     covered<log_sigmoid_backward>, "a * (where(b < 0, 1, 0) - where(b < 0, 1, -1) * (c / (1 + c)))", kSecond,
     "times sigmoid(-self)", "",
     "a * (where(b < 0, 1, 0) - where(b < 0, 1, -1) * (exp(-abs(b)) / (1 + exp(-abs(b)))))"},
    {"aten.logit_backward.default", "grad_output, self, eps=None", kPoint, Lower::decompose, covered<of_two>,
     "", kSecond, "divided by self (1 - self)"},
    {"aten.glu_backward.default", "grad_output, self, dim", kPoint, Lower::decompose, covered<glu_backward>,
     "", kSecond, "sigmoid of one half, and the derivative of that times the other"},
    {"aten.slice_backward.default", "grad_output, input_sizes, dim, start, end, step", Family::memory,
     Lower::movement, covered<part_of>, "", kSecond, "zeros with the gradient in a range"},
    {"aten.select_backward.default", "grad_output, input_sizes, dim, index", Family::memory, Lower::movement,
     covered<part_of>, "", kSecond, "zeros with the gradient at one position"},
    {"aten.diagonal_backward.default", "grad_output, input_sizes, offset, dim1, dim2", Family::memory,
     kOpaque, covered<part_of>, "", kSecond, "zeros with the gradient on a diagonal"},
    {"aten.unfold_backward.default", "grad_in, input_sizes, dim, size, step", Family::memory, kOpaque,
     covered<part_of>, "", kSecond, "windows added up at their places"},
    {"aten.embedding_dense_backward.default",
     "grad_output, indices, num_weights, padding_idx, scale_grad_by_freq", Family::memory, Lower::scatter,
     covered<embedding_backward>, "", kSecond, "rows added up by index"},
    {"aten.native_layer_norm_backward.default",
     "grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask", Family::reduction,
     Lower::decompose, covered<layer_norm_backward>, "", kSecond, "gradients of input, weight and bias"},
    {"aten.native_group_norm_backward.default",
     "grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask", Family::reduction, kOpaque,
     covered<group_norm_backward>, "", kSecond, "gradients of input, weight and bias"},
    {"aten.native_batch_norm_backward.default",
     "grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask",
     Family::reduction, Lower::decompose, covered<batch_norm_backward>, "", kSecond,
     "gradients of input, weight and bias"},
    {"aten._fused_rms_norm.default", "input, normalized_shape, weight, eps", Family::reduction,
     Lower::decompose, covered<rms_norm>, "", "borrowed(\"made by a pass, behind the derivative\")",
     "a / root of the mean square * weight"},
    {"aten._fused_rms_norm_backward.default", "grad_out, input, normalized_shape, rstd, weight, output_mask",
     Family::reduction, Lower::decompose, covered<rms_norm_backward>, "", kSecond,
     "gradients of input, by rows, and of weight, by columns"},
    {"aten.cudnn_batch_norm_backward.default",
     "input, grad_output, weight, running_mean, running_var, save_mean, save_var, epsilon, reserveSpace",
     Family::reduction, Lower::decompose, covered<cudnn_batch_norm_backward>, "", kSecond,
     "gradients of input, weight and bias by channel"},
    {"aten.convolution_backward.default",
     "grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, "
     "output_mask",
     Family::matmul, kOpaque, covered<convolution_backward>, "", kSecond,
     "gradients of input, weight and bias"},
    {"aten.max_pool2d_with_indices_backward.default",
     "grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices", Family::reduction,
     kOpaque, covered<pooling_backward>, "", kSecond, "the gradient where the largest was"},
    {"aten.avg_pool2d_backward.default",
     "grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override",
     Family::reduction, kOpaque, covered<pooling_backward>, "", kSecond,
     "the gradient divided among its window"},
    {"aten._adaptive_avg_pool2d_backward.default", "grad_output, self", Family::reduction, kOpaque,
     covered<pooling_backward>, "", kSecond, "the gradient divided among its window"},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
     "grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None",
     Family::matmul, kOpaque, covered<attention_backward>, "", kSecond, "gradients of query, key and value"},
};

}  // namespace vitrine::ops
