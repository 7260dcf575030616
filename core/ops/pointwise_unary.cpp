// Functions of one operand.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

Types no_bool(const Call& c) {
  need(c.tensor(0).dtype != DType::b1, "not defined for bool");
  return unary(c);
}
Types bitwise(const Call& c) {
  need(!ir::is_float(c.tensor(0).dtype), "not defined for floating types");
  return unary(c);
}

// What eager refuses is left to it.
Types gelu(const Call& c) {
  need(c.text(1) == "none" || c.text(1) == "tanh", "an approximation of another name");
  return unary_float_only(c);
}
// In rows. The buffer is empty on a GPU.
Types log_sigmoid_forward(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(ir::is_float(t.dtype) && (t.device.is_cpu() || t.is_contiguous()), "type or layout");
  const TensorType out = TensorType::contiguous(t.dtype, t.sizes);
  return {out, t.device.is_cpu() ? out : TensorType::contiguous(t.dtype, {0})};
}
// The halves of a dimension, as a loop over both lays them out.
Types glu(const Call& c) {
  TensorType half = c.tensor(0);
  need(ir::is_float(half.dtype) && !half.sizes.empty(), "type or dimensions");
  Sym& size = half.sizes[wrap_dim(c.integer(1), half.sizes.size())];
  need(mod(size, 2) == 0, "an odd size");
  size = floordiv(size, 2);
  return {elementwise({half, half}, half.dtype, half.dtype)};
}
Types softshrink(const Call& c) {
  need(c.number(1) >= 0 && c.number(1) <= 3.0e38, "lambd out of range");
  return unary_float_only(c);
}
Types hardtanh(const Call& c) {
  need(c.tensor(0).dtype != DType::u8 || (c.number(1) >= 0 && c.number(2) >= 0), "a negative bound for u8");
  TensorType out = no_bool(c)[0];
  out.strides = preserved_strides(c.tensor(0));
  return {out};
}

}  // namespace

constexpr Family kFamily = Family::pointwise;
constexpr Lower kLoop = Lower::pointwise;
constexpr std::string_view kNoGradient = "nondifferentiable(\"the result is bool or integer\")";

const std::vector<OpRow> kPointwiseUnary = {
    {"aten.abs.default", "self", kFamily, kLoop, covered<no_bool>, "abs(a)", "g * sign(a)", "absolute value",
     "aten.abs_.default"},
    {"aten.neg.default", "self", kFamily, kLoop, covered<no_bool>, "-a", "-g", "-a", "aten.neg_.default"},
    {"aten.sgn.default", "self", kFamily, kLoop, covered<unary>, "sign(a)", kRule, "-1, 0 or 1"},
    {"aten.isposinf.default", "self", kFamily, kLoop, covered<unary_bool>, "isinf(a) & (a > 0)", kNoGradient,
     "whether a is infinite and positive"},
    {"aten.isneginf.default", "self", kFamily, kLoop, covered<unary_bool>, "isinf(a) & (a < 0)", kNoGradient,
     "whether a is infinite and negative"},
    {"aten.nan_to_num.default", "self, nan=None, posinf=None, neginf=None", kFamily, Lower::decompose,
     covered<unary>, "", "g * logical_not(isnan(a) | isinf(a))", "numbers in place of NaN and infinities"},
    {"aten.logit.default", "self, eps=None", kFamily, Lower::decompose, covered<unary_floating>, "",
     "logit_backward(g, a, b)", "log(a / (1 - a))"},
    {"aten.sign.default", "self", kFamily, kLoop, covered<unary>, "sign(a)", "0", "-1, 0 or 1"},
    {"aten.reciprocal.default", "self", kFamily, kLoop, covered<unary_floating>, "1 / a", "-g * (y * y)",
     "1 / a"},
    {"aten.square.default", "self", kFamily, kLoop, covered<no_bool>, "a * a", "g * (a * 2)", "a * a"},
    {"aten.sqrt.default", "self", kFamily, kLoop, covered<unary_floating>, "sqrt(a)", "g / (y * 2)",
     "square root", "aten.sqrt_.default"},
    {"aten.rsqrt.default", "self", kFamily, kLoop, covered<unary_floating>, "rsqrt(a)",
     "g * -0.5 * pow(y, 3)", "1 / square root", "aten.rsqrt_.default"},
    {"aten.exp.default", "self", kFamily, kLoop, covered<unary_floating>, "exp(a)", "g * y", "e to the power",
     "aten.exp_.default"},
    {"aten.exp2.default", "self", kFamily, kLoop, covered<unary_floating>, "exp2(a)",
     "g * y * 0.6931471805599453", "2 to the power"},
    {"aten.expm1.default", "self", kFamily, kLoop, covered<unary_floating>, "expm1(a)", "g * (y + 1)",
     "exp(a) - 1"},
    {"aten.log.default", "self", kFamily, kLoop, covered<unary_floating>, "log(a)", "g / a",
     "natural logarithm", "aten.log_.default"},
    {"aten.log2.default", "self", kFamily, kLoop, covered<unary_floating>, "log2(a)",
     "g / (a * 0.6931471805599453)", "logarithm to base 2"},
    {"aten.log10.default", "self", kFamily, kLoop, covered<unary_floating>, "log10(a)",
     "g / (a * 2.302585092994046)", "logarithm to base 10"},
    {"aten.log1p.default", "self", kFamily, kLoop, covered<unary_floating>, "log1p(a)", "g / (a + 1)",
     "log(1 + a)"},
    {"aten.sin.default", "self", kFamily, kLoop, covered<unary_floating>, "sin(a)", "g * cos(a)", "sine",
     "aten.sin_.default"},
    {"aten.cos.default", "self", kFamily, kLoop, covered<unary_floating>, "cos(a)", "g * -sin(a)", "cosine",
     "aten.cos_.default"},
    {"aten.tan.default", "self", kFamily, kLoop, covered<unary_floating>, "tan(a)", "g * (pow(y, 2) + 1)",
     "tangent"},
    {"aten.asin.default", "self", kFamily, kLoop, covered<unary_floating>, "asin(a)", "g * rsqrt(-a * a + 1)",
     "arc sine"},
    {"aten.acos.default", "self", kFamily, kLoop, covered<unary_floating>, "acos(a)",
     "g * -rsqrt(-a * a + 1)", "arc cosine"},
    {"aten.atan.default", "self", kFamily, kLoop, covered<unary_floating>, "atan(a)", "g / (a * a + 1)",
     "arc tangent"},
    {"aten.sinh.default", "self", kFamily, kLoop, covered<unary_floating>, "sinh(a)", "g * cosh(a)",
     "hyperbolic sine"},
    {"aten.cosh.default", "self", kFamily, kLoop, covered<unary_floating>, "cosh(a)", "g * sinh(a)",
     "hyperbolic cosine"},
    {"aten.asinh.default", "self", kFamily, kLoop, covered<unary_floating>, "asinh(a)",
     "g * rsqrt(pow(a, 2) + 1)", "inverse of the hyperbolic sine"},
    {"aten.acosh.default", "self", kFamily, kLoop, covered<unary_floating>, "acosh(a)",
     "g * rsqrt(pow(a, 2) - 1)", "inverse of the hyperbolic cosine"},
    {"aten.atanh.default", "self", kFamily, kLoop, covered<unary_floating>, "atanh(a)",
     "g * 1 / (1 - pow(a, 2))", "inverse of the hyperbolic tangent"},
    {"aten.tanh.default", "self", kFamily, kLoop, covered<unary_floating>, "tanh(a)", "tanh_backward(g, y)",
     "hyperbolic tangent", "aten.tanh_.default"},
    {"aten.erf.default", "self", kFamily, kLoop, covered<unary_floating>, "erf(a)",
     "exp(-pow(a, 2)) * 1.1283791670955126 * g", "error function"},
    {"aten.erfinv.default", "self", kFamily, kLoop, covered<unary_floating>, "erfinv(a)",
     "exp(pow(y, 2)) * 0.8862269254527579 * g", "inverse of the error function", "aten.erfinv_.default"},
    {"aten.special_i0e.default", "self", kFamily, kLoop, covered<unary_floating>, "i0e(a)",
     "g * (special_i1e(a) - sgn(a) * y)", "modified Bessel function of order 0, times exp(-|a|)"},
    {"aten.special_i1e.default", "self", kFamily, Lower::opaque, covered<unary_floating>, "",
     "borrowed(\"PyTorch's asks where a is next to 0\")",
     "modified Bessel function of order 1, times exp(-|a|)"},
    {"aten.sigmoid.default", "self", kFamily, kLoop, covered<unary_floating>, "sigmoid(a)",
     "sigmoid_backward(g, y)", "1 / (1 + exp(-a))", "aten.sigmoid_.default"},
    {"aten.floor.default", "self", kFamily, kLoop, covered<no_bool>, "floor(a)", "0", "rounded down"},
    {"aten.ceil.default", "self", kFamily, kLoop, covered<no_bool>, "ceil(a)", "0", "rounded up"},
    {"aten.trunc.default", "self", kFamily, kLoop, covered<no_bool>, "trunc(a)", "0", "rounded to zero"},
    {"aten.round.default", "self", kFamily, kLoop, covered<no_bool>, "round(a)", "0",
     "rounded, halves to even"},
    {"aten.frac.default", "self", kFamily, kLoop, covered<unary_float_only>, "a - trunc(a)", "g",
     "fractional part"},
    {"aten.bitwise_not.default", "self", kFamily, kLoop, covered<bitwise>, "~a",
     "nondifferentiable(\"the result is bool or integer\")", "every bit flipped; logical not of a bool", "",
     "", kWrapsAlike},
    {"aten.relu.default", "self", kFamily, kLoop, covered<no_bool>, "max(a, 0)",
     "threshold_backward(g, y, 0)", "max(a, 0)", "aten.relu_.default"},
    {"aten.relu6.default", "self", kFamily, kLoop, covered<no_bool>, "min(max(a, 0), 6)",
     "hardtanh_backward(g, a, 0, 6)", "a limited to 0..6"},
    {"aten.leaky_relu.default", "self, negative_slope=0.01", kFamily, kLoop, covered<unary_float_only>,
     "where(a > 0, a, a * b)", "leaky_relu_backward(g, a, b, False)", "a, or slope * a below 0",
     "aten.leaky_relu_.default"},
    {"aten.elu.default", "self, alpha=1, scale=1, input_scale=1", kFamily, kLoop, covered<unary_float_only>,
     "where(a <= 0, expm1(a * d) * (b * c), a * c)", "elu_backward(g, b, c, d, False, a)",
     "scale * (a, or alpha * (exp(a) - 1) below 0)"},
    {"aten.celu.default", "self, alpha=1.0", kFamily, Lower::decompose, covered<unary_float_only>, "",
     "elu_backward(g, b, 1, 1 / b, False, a)", "a, or alpha * (exp(a / alpha) - 1) below 0"},
    {"aten.glu.default", "self, dim=-1", kFamily, Lower::decompose, covered<glu>, "", "glu_backward(g, a, b)",
     "one half * sigmoid of the other"},
    {"aten.gelu.default", R"(self, *, approximate="none")", kFamily, Lower::decompose, covered<gelu>, "",
     kRule, "a * normal cumulative distribution of a"},
    {"aten.silu.default", "self", kFamily, kLoop, covered<unary_float_only>, "a / (1 + exp(-a))",
     "silu_backward(g, a)", "a * sigmoid(a)", "aten.silu_.default"},
    {"aten.mish.default", "self", kFamily, kLoop, covered<unary_float_only>, "a * tanh(log1p(exp(a)))",
     "mish_backward(g, a)", "a * tanh(softplus(a))"},
    {"aten.softplus.default", "self, beta=1, threshold=20", kFamily, kLoop, covered<unary_float_only>,
     "where(a * b > c, a, log1p(exp(a * b)) / b)", "softplus_backward(g, a, b, c)",
     "log(1 + exp(beta * a)) / beta"},
    {"aten.hardtanh.default", "self, min_val=-1, max_val=1", kFamily, kLoop, covered<hardtanh>,
     "min(max(a, b), c)", "hardtanh_backward(g, a, b, c)", "a limited to a range", "aten.hardtanh_.default"},
    {"aten.hardsigmoid.default", "self", kFamily, kLoop, covered<unary_float_only>,
     "min(max(a + 3, 0), 6) / 6", "hardsigmoid_backward(g, a)", "clamp(a + 3, 0, 6) / 6", "",
     "min(max(a + 3, 0), 6) * 0.1666666716337204"},
    {"aten.hardswish.default", "self", kFamily, kLoop, covered<unary_float_only>,
     "a * min(max(a + 3, 0), 6) / 6", "hardswish_backward(g, a)", "a * hardsigmoid(a)", "",
     "a * min(max(a + 3, 0), 6) * 0.1666666716337204"},
    {"aten.threshold.default", "self, threshold, value", kFamily, kLoop, covered<no_bool>,
     "where(a <= b, c, a)", "threshold_backward(g, a, b)", "value where a is at most the threshold"},
    {"aten.hardshrink.default", "self, lambd=0.5", kFamily, kLoop, covered<unary_float_only>,
     "where((a >= -b) & (a <= b), 0, a)", "hardshrink_backward(g, a, b)", "0 where a is near 0"},
    {"aten.softshrink.default", "self, lambd=0.5", kFamily, kLoop, covered<softshrink>,
     "where(a > b, a - b, where(a < -b, a + b, where(isnan(a), a, 0)))", "softshrink_backward(g, a, b)",
     "a moved towards 0"},
    {"aten.log_sigmoid_forward.default", "self", kFamily, Lower::decompose, covered<log_sigmoid_forward>, "",
     "g * where(a < 0, 1 - sigmoid(a), sigmoid(-a))", "log(sigmoid(a)) and a buffer"},
    {"aten.log_sigmoid.default", "self", kFamily, kLoop, covered<unary_float_only>,
     "min(a, 0) - log1p(exp(-abs(a)))", "borrowed(\"autograd sees log_sigmoid_forward\")", "log(sigmoid(a))"},
};

}  // namespace vitrine::ops
