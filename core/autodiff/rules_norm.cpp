// Gradients of normalisations, softmax and losses: PyTorch's own operators, which the compiler writes out.
#include "core/autodiff/rules.h"

namespace vitrine::autodiff {

namespace {

// y = softmax x: (g - sum of g y) y; y = log softmax x: g - exp(y) sum of g
void softmax(Vjp& v) {
  v.give(0,
         v.op("aten._softmax_backward_data.default", {v.g(), v.out(), v.arg(1), Arg(v.type(v.in(0)).dtype)}));
}
void log_softmax(Vjp& v) {
  v.give(0, v.op("aten._log_softmax_backward_data.default",
                 {v.g(), v.out(), v.arg(1), Arg(v.type(v.in(0)).dtype)}));
}

// y = -w x at the right class, averaged by the total weight
void nll_loss_by(Vjp& v, const char* backward) {
  if (v.wants(2)) refuse("the weights have a gradient");
  v.give(0, v.op(backward, {v.g(), v.in(0), v.in(1), v.arg(2), v.arg(3), v.arg(4), v.out(1)}));
}
void nll_loss(Vjp& v) {
  nll_loss_by(v, "aten.nll_loss_backward.default");
}
void nll_loss2d(Vjp& v) {
  nll_loss_by(v, "aten.nll_loss2d_backward.default");
}

// y = (x - t)^2: 2 g (x - t)
void mse_loss(Vjp& v) {
  auto of = [&](size_t a, size_t b) {
    if (v.wants(a))
      v.give(a, v.contiguous(v.op("aten.mse_loss_backward.default", {v.g(), v.in(a), v.in(b), v.arg(2)})));
  };
  of(0, 1), of(1, 0);
}

// y = (x - mean) / deviation * weight + bias
void layer_norm(Vjp& v) {
  const std::vector<Arg> mask = {Arg(v.wants(0)), Arg(v.wants(2)), Arg(v.wants(3))};
  const auto out = v.ops("aten.native_layer_norm_backward.default",
                         {v.g(), v.in(0), v.arg(1), v.out(1), v.out(2), v.arg(2), v.arg(3), Arg(mask)});
  const size_t args[] = {0, 2, 3};
  for (size_t k = 0; k < 3; ++k)
    if (v.wants(args[k])) v.give(args[k], out[k]);
}

// The same within groups of channels
void group_norm(Vjp& v) {
  const std::vector<Arg> mask = {Arg(v.wants(0)), Arg(v.wants(1)), Arg(v.wants(2))};
  if (v.has(1) || v.has(2)) refuse("the statistics have a gradient");
  if (!v.type(v.g()).is_contiguous()) refuse("the gradient is not contiguous");
  const auto out = v.ops(
      "aten.native_group_norm_backward.default",
      {v.g(), v.in(0), v.out(1), v.out(2), v.arg(1), v.arg(3), v.arg(4), v.arg(5), v.arg(6), Arg(mask)});
  for (size_t i = 0; i < 3; ++i)
    if (v.wants(i)) v.give(i, out[i]);
}

// The same by channel; the statistics are the batch's in training, where the running ones were just written
// and are not read, else the running ones
void batch_norm(Vjp& v) {
  const std::vector<Arg> mask = {Arg(v.wants(0)), Arg(v.wants(1)), Arg(v.wants(2))};
  const auto out = v.ops("aten.native_batch_norm_backward.default",
                         {v.g(), v.in(0), v.arg(1), v.flag(5) ? Arg() : v.arg(3),
                          v.flag(5) ? Arg() : v.arg(4), v.out(1), v.out(2), v.arg(5), v.arg(7), Arg(mask)});
  for (size_t i = 0; i < 3; ++i)
    if (v.wants(i)) v.give(i, out[i]);
}

}  // namespace

const std::vector<RuleRow> kNormRules = {
    {"aten._softmax.default", softmax},
    {"aten._safe_softmax.default", softmax},
    {"aten._log_softmax.default", log_softmax},
    {"aten.nll_loss_forward.default", nll_loss},
    {"aten.nll_loss2d_forward.default", nll_loss2d},
    {"aten.mse_loss.default", mse_loss},
    {"aten.native_layer_norm.default", layer_norm},
    {"aten.native_group_norm.default", group_norm},
    {"aten.native_batch_norm.default", batch_norm},
};

}  // namespace vitrine::autodiff
