// Gradients of matrix products, convolution, pooling and attention.
#include "core/autodiff/rules.h"
#include "core/ops/call.h"

namespace vitrine::autodiff {

namespace {

Ref scaled(Vjp& v, Ref value, const Arg& factor) {
  v.let("value", value), v.let("factor", factor);
  return v.eval("scaled(value, factor)");
}
bool is_column_major(const TensorType& t) {
  return t.strides[0] == 1 && t.strides[1] == t.sizes[0];
}
Ref t(Vjp& v, Ref a) {
  return v.op("aten.t.default", {a});
}
Ref mm(Vjp& v, Ref a, Ref b) {
  return v.op("aten.mm.default", {a, b});
}

// y = s A B: A gets s g B', B gets s A' g. One that lies column by column gets its gradient so, too:
// (B g')' and (g' A)'.
void product(Vjp& v, size_t a, size_t b, const Arg& s) {
  if (v.wants(a)) {
    const Ref left =
        is_column_major(v.type(v.in(a))) ? t(v, mm(v, v.in(b), t(v, v.g()))) : mm(v, v.g(), t(v, v.in(b)));
    v.give(a, scaled(v, left, s));
  }
  if (v.wants(b)) {
    const Ref right =
        is_column_major(v.type(v.in(b))) ? t(v, mm(v, t(v, v.g()), v.in(a))) : mm(v, t(v, v.in(a)), v.g());
    v.give(b, scaled(v, right, s));
  }
}
void matrix_product(Vjp& v) {
  product(v, 0, 1, Arg(1));
}
// y = beta C + alpha A B
void addmm(Vjp& v) {
  if (v.wants(0)) v.give(0, scaled(v, v.g(), v.arg(3)));
  product(v, 1, 2, v.arg(4));
}

void batched(Vjp& v, size_t a, size_t b, const Arg& s) {
  auto swapped = [&](size_t i) { return v.op("aten.transpose.int", {v.in(i), Arg(1), Arg(2)}); };
  if (v.wants(a)) v.give(a, scaled(v, v.op("aten.bmm.default", {v.g(), swapped(b)}), s));
  if (v.wants(b)) v.give(b, scaled(v, v.op("aten.bmm.default", {swapped(a), v.g()}), s));
}
void bmm(Vjp& v) {
  batched(v, 0, 1, Arg(1));
}
void baddbmm(Vjp& v) {
  if (v.wants(0)) v.give(0, scaled(v, v.g(), v.arg(3)));
  batched(v, 1, 2, v.arg(4));
}

// y = A x: A gets the outer product g x', x gets A' g
void mv(Vjp& v) {
  if (v.wants(0)) {
    const Ref column = v.op("aten.unsqueeze.default", {v.g(), Arg(1)});
    v.give(0, v.op("aten.mul.Tensor", {column, v.in(1)}));
  }
  if (v.wants(1)) v.give(1, v.op("aten.mv.default", {t(v, v.in(0)), v.g()}));
}

// PyTorch's own kernel for all that are wanted: input, weight, bias
void convolution(Vjp& v) {
  const Arg bias = v.none(2) ? Arg() : Arg::ints(v.sizes(2));
  const std::vector<Arg> mask = {Arg(v.wants(0)), Arg(v.wants(1)), Arg(v.wants(2))};
  const auto out = v.ops(
      "aten.convolution_backward.default",
      {v.g(), v.in(0), v.in(1), bias, v.arg(3), v.arg(4), v.arg(5), v.arg(6), v.arg(7), v.arg(8), Arg(mask)});
  for (size_t i = 0; i < 3; ++i)
    if (v.wants(i)) v.give(i, out[i]);
}

void max_pool2d(Vjp& v) {
  v.give(0, v.op("aten.max_pool2d_with_indices_backward.default",
                 {v.g(), v.in(0), v.arg(1), v.arg(2), v.arg(3), v.arg(4), v.arg(5), v.out(1)}));
}
void avg_pool2d(Vjp& v) {
  v.give(0, v.op("aten.avg_pool2d_backward.default",
                 {v.g(), v.in(0), v.arg(1), v.arg(2), v.arg(3), v.arg(4), v.arg(5), v.arg(6)}));
}
void adaptive_avg_pool2d(Vjp& v) {
  v.give(0, v.op("aten._adaptive_avg_pool2d_backward.default", {v.g(), v.in(0)}));
}

// PyTorch's own kernel, which makes the probabilities again from the log of their sums
void attention(Vjp& v) {
  Kwargs kwargs;
  if (!v.none(5)) kwargs.emplace_back("attn_mask", v.arg(5));
  if (!v.none(6)) kwargs.emplace_back("scale", v.arg(6));
  if (v.wants(5)) refuse("the mask has a gradient");
  const auto out = v.ops("aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
                         {v.g(), v.in(0), v.in(1), v.in(2), v.out(0), v.out(1), v.arg(3), v.arg(4)}, kwargs);
  for (size_t i = 0; i < 3; ++i)
    if (v.wants(i)) v.give(i, out[i]);
}

}  // namespace

const std::vector<RuleRow> kMatmulRules = {
    {"aten.mm.default", matrix_product},
    {"aten.addmm.default", addmm},
    {"aten.bmm.default", bmm},
    {"aten.baddbmm.default", baddbmm},
    {"aten.mv.default", mv},
    {"aten.convolution.default", convolution},
    {"aten.max_pool2d_with_indices.default", max_pool2d},
    {"aten.avg_pool2d.default", avg_pool2d},
    {"aten._adaptive_avg_pool2d.default", adaptive_avg_pool2d},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", attention},
};

}  // namespace vitrine::autodiff
