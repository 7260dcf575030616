// What PyTorch's own backward is made of, for the operators that have one of their own. Each is the
// derivative of the operator that its name begins with, times the gradient of that one's result.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

// Two or three floating tensors of one layout: the layout of the result is then no question.
Types alike(const Call& c, std::initializer_list<size_t> tensors) {
  const TensorType& first = c.tensor(*tensors.begin());
  need(ir::is_float(first.dtype), "not a floating type");
  for (size_t i : tensors) {
    const TensorType& t = c.tensor(i);
    need(t.sizes == first.sizes && t.strides == first.strides, "layouts differ");
    need(t.dtype == first.dtype || t.dtype == DType::b1, "types differ");
  }
  return pointwise(c, {0});
}
Types of_two(const Call& c) {
  return alike(c, {0, 1});
}
Types mse_backward(const Call& c) {
  need(c.tensor(0).sizes.empty() || c.integer(3) == 0, "the gradient has dimensions");
  alike(c, {1, 2});
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
// Scores (n, classes), class indices (n).
Types nll_backward(const Call& c) {
  const TensorType &scores = c.tensor(1), &target = c.tensor(2);
  need(ir::is_float(scores.dtype) && scores.sizes.size() == 2 && target.dtype == DType::i64, "types");
  need(target.sizes.size() == 1 && target.sizes[0] == scores.sizes[0], "sizes");
  need(c.tensor(0).dtype == scores.dtype && c.tensor(6).dtype == scores.dtype, "types differ");
  return {TensorType::contiguous(scores.dtype, scores.sizes)};
}

}  // namespace

constexpr Family kPoint = Family::pointwise;
constexpr Lower kLoop = Lower::pointwise;

const std::vector<OpRow> kBackward = {
    {"aten.threshold_backward.default", "grad_output, self, threshold", kPoint, kLoop, covered<of_two>,
     "where(b <= c, 0, a)", kLater, "0 where self is not above the threshold"},
    {"aten.hardtanh_backward.default", "grad_output, self, min_val, max_val", kPoint, kLoop, covered<of_two>,
     "where((b <= c) | (b >= d), 0, a)", kLater, "0 where self was limited"},
    {"aten.leaky_relu_backward.default", "grad_output, self, negative_slope, self_is_result", kPoint, kLoop,
     covered<of_two>, "where(b > 0, a, a * c)", kLater, "times the slope below 0"},
    {"aten.tanh_backward.default", "grad_output, output", kPoint, kLoop, covered<of_two>, "a * (1 - b * b)",
     kLater, "times 1 - tanh^2"},
    {"aten.sigmoid_backward.default", "grad_output, output", kPoint, kLoop, covered<of_two>,
     "a * (1 - b) * b", kLater, "times (1 - s) s"},
    {"aten.silu_backward.default", "grad_output, self", kPoint, kLoop, covered<of_two>,
     "a * sigmoid(b) * (1 + b * (1 - sigmoid(b)))", kLater, "times s (1 + x (1 - s))"},
    {"aten.native_dropout_backward.default", "grad_output, mask, scale", kPoint, kLoop, covered<of_two>,
     "a * (b * c)", kLater, "0 where elements were zeroed"},
    {"aten.gelu_backward.default", "grad_output, self, *, approximate=\"none\"", kPoint, Lower::decompose,
     covered<of_two>, "", kLater, "times the distribution function and x times the density"},
    {"aten.mse_loss_backward.default", "grad_output, self, target, reduction", kPoint, Lower::decompose,
     covered<mse_backward>, "", kLater, "times 2 (self - target) / n"},
    {"aten._softmax_backward_data.default", "grad_output, output, dim, input_dtype", Family::reduction,
     Lower::decompose, covered<softmax_backward>, "", kLater, "(g - sum of g y) y"},
    {"aten._log_softmax_backward_data.default", "grad_output, output, dim, input_dtype", Family::reduction,
     Lower::decompose, covered<softmax_backward>, "", kLater, "g - exp(y) times the sum of g"},
    {"aten.nll_loss_backward.default",
     "grad_output, self, target, weight, reduction, ignore_index, total_weight", kPoint, Lower::decompose,
     covered<nll_backward>, "", kLater, "the gradient at the right class, 0 elsewhere"},
};

}  // namespace vitrine::ops
