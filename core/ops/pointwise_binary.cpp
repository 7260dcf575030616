// Arithmetic of two and three operands.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

bool is_bool(const Call& c, size_t i) {
  return c.is_tensor(i) ? c.tensor(i).dtype == DType::b1 : c.number_dtype(i) == DType::b1;
}

// alpha must be storable in the result: no fraction for integers, no number but a bool for bools.
void check_alpha(const Call& c, size_t i, DType common) {
  DType alpha = c.number_dtype(i);
  need(!ir::is_float(alpha) || ir::is_float(common), "a fractional alpha for integers");
  need(alpha != DType::b1 || common == DType::b1, "a bool alpha for numbers");
}

Types add(const Call& c) {
  Types out = pointwise(c, {0, 1});
  check_alpha(c, 2, out[0].dtype);
  return out;
}
Types sub(const Call& c) {
  need(!is_bool(c, 0) && !is_bool(c, 1), "bools do not subtract");
  return add(c);
}
// b - a: the loop's first operand is b.
Types rsub(const Call& c) {
  sub(c);
  return pointwise(c, {1, 0});
}
Types binary(const Call& c) {
  return pointwise(c, {0, 1});
}
// PyTorch has no kernel for integers, and a layout of its own for no elements.
Types prelu(const Call& c) {
  need(ir::is_float(c.tensor(0).dtype) && c.tensor(0).numel() > 0, "not defined for integers");
  return binary(c);
}
Types no_bool(const Call& c) {
  Types out = binary(c);
  need(out[0].dtype != DType::b1, "not defined for bool");
  return out;
}
Types divide(const Call& c) {
  return pointwise(c, {0, 1}, PromotedType::floating);
}
Types divide_mode(const Call& c) {
  return c.none(2) ? divide(c) : no_bool(c);
}

Types floating_pair(const Call& c) {
  Types out = binary(c);
  need(ir::is_float(out[0].dtype), "not defined for integers");
  return out;
}
// PyTorch's kernels have no steps of f16.
Types nextafter(const Call& c) {
  Types out = floating_pair(c);
  need(out[0].dtype != DType::f16, "not defined for this type");
  return out;
}
Types same_type(const Call& c) {
  need(c.tensor(0).dtype == c.tensor(1).dtype, "types must agree");
  return binary(c);
}
// Of integers by a number of bits; of floating types it is a product.
Types shift(const Call& c) {
  const DType type = c.tensor(0).dtype;
  need(!ir::is_float(type) && type != DType::b1 && c.number_dtype(1) == DType::i64, "types");
  return binary(c);
}

// pow(integers, negative number) is an error in eager.
Types pow_scalar(const Call& c) {
  DType exponent = c.number_dtype(1);
  if (!ir::is_float(c.tensor(0).dtype) && !ir::is_float(exponent))
    need(c.number(1) >= 0, "integers to a negative power");
  Promotion promotion(c.default_dtype);
  promotion.argument(c, 0), promotion.argument(c, 1);
  DType common = promotion.result();
  need(common != DType::b1, "not defined for bool");
  return {elementwise({c.tensor(0)}, common, common)};
}
Types pow_base(const Call& c) {
  need(!c.is_tensor(0), "the base is a tensor");
  return no_bool(c);
}

Types ternary(const Call& c) {
  return pointwise(c, {0, 1, 2});
}
Types addcmul(const Call& c) {
  Types out = ternary(c);
  need(out[0].dtype != DType::b1, "not defined for bool");
  need(!ir::is_float(c.number_dtype(3)) || ir::is_float(out[0].dtype), "a fractional value for integers");
  return out;
}
Types addcdiv(const Call& c) {
  need(ir::is_float(c.tensor(1).dtype) || ir::is_float(c.tensor(2).dtype), "not defined for integers");
  return addcmul(c);
}
Types lerp_scalar(const Call& c) {
  need(c.tensor(0).dtype == c.tensor(1).dtype && ir::is_float(c.tensor(0).dtype), "types must agree");
  return binary(c);
}
Types lerp_tensor(const Call& c) {
  lerp_scalar(c);
  need(c.tensor(0).dtype == c.tensor(2).dtype, "types must agree");
  return ternary(c);
}

// clamp(x, None, None) is an error; a bound that is None takes no part.
Types clamp(const Call& c) {
  Types out = c.none(2) ? pointwise(c, {0, 1}) : c.none(1) ? pointwise(c, {0, 2}) : pointwise(c, {0, 1, 2});
  need(out[0].dtype != DType::b1, "not defined for bool");
  // The bounds of the scalar form are no operands of the loop: only the layout of x counts.
  bool scalars = !(c.is_tensor(1) || c.is_tensor(2));
  return scalars ? Types{elementwise({c.tensor(0)}, out[0].dtype, out[0].dtype)} : out;
}
Types clamp_one(const Call& c) {
  Types out = no_bool(c);
  return c.is_tensor(1) ? out : Types{elementwise({c.tensor(0)}, out[0].dtype, out[0].dtype)};
}

}  // namespace

constexpr Family kFamily = Family::pointwise;
constexpr Lower kLoop = Lower::pointwise;
constexpr std::string_view kNoGradient = "nondifferentiable(\"the result is bool or integer\")";

const std::vector<OpRow> kPointwiseBinary = {
    {"aten.add.Tensor", "self, other, *, alpha=1", kFamily, kLoop, covered<add>, "a + alpha * b",
     "a: g; b: scaled(g, alpha)", "a + alpha * b", "aten.add_.Tensor", "", kWrapsAlike},
    {"aten.add.Scalar", "self, other, alpha=1", kFamily, kLoop, covered<add>, "a + c * b", "g",
     "a + alpha * number", "aten.add_.Scalar", "", kWrapsAlike},
    {"aten.sub.Tensor", "self, other, *, alpha=1", kFamily, kLoop, covered<sub>, "a - alpha * b",
     "a: g; b: scaled(-g, alpha)", "a - alpha * b", "aten.sub_.Tensor", "", kWrapsAlike},
    {"aten.sub.Scalar", "self, other, alpha=1", kFamily, kLoop, covered<sub>, "a - c * b", "g",
     "a - alpha * number", "aten.sub_.Scalar", "", kWrapsAlike},
    {"aten.rsub.Tensor", "self, other, *, alpha=1", kFamily, kLoop, covered<rsub>, "b - alpha * a",
     "a: scaled(-g, alpha); b: g", "b - alpha * a", "", "", kWrapsAlike},
    {"aten.rsub.Scalar", "self, other, alpha=1", kFamily, kLoop, covered<rsub>, "b - c * a",
     "scaled(-g, alpha)", "number - alpha * a", "", "", kWrapsAlike},
    {"aten.mul.Tensor", "self, other", kFamily, kLoop, covered<binary>, "a * b", "a: g * b; b: g * a",
     "a * b", "aten.mul_.Tensor", "", kWrapsAlike | kSavesNumbers},
    {"aten.mul.Scalar", "self, other", kFamily, kLoop, covered<binary>, "a * b", "g * b", "a * number",
     "aten.mul_.Scalar", "", kWrapsAlike},
    {"aten.div.Tensor", "self, other", kFamily, kLoop, covered<divide>, "a / b",
     "a: g / b; b: -g * (a / b / b)", "true division", "aten.div_.Tensor", "", kSavesNumbers},
    {"aten.div.Scalar", "self, other", kFamily, kLoop, covered<divide>, "a / b", "g / b",
     "true division by a number", "aten.div_.Scalar"},
    {"aten.div.Tensor_mode", "self, other, *, rounding_mode", kFamily, Lower::decompose, covered<divide_mode>,
     "", kRule, "division, rounded down or to zero"},
    {"aten.div.Scalar_mode", "self, other, *, rounding_mode", kFamily, Lower::decompose, covered<divide_mode>,
     "", kRule, "division by a number, rounded down or to zero"},
    {"aten.floor_divide.default", "self, other", kFamily, kLoop, covered<no_bool>, "floordiv(a, b)",
     "borrowed(\"PyTorch has none, and says so\")", "division rounded down"},
    {"aten.floor_divide.Scalar", "self, other", kFamily, kLoop, covered<no_bool>, "floordiv(a, b)",
     "borrowed(\"PyTorch has none, and says so\")", "division by a number rounded down"},
    {"aten.remainder.Tensor", "self, other", kFamily, kLoop, covered<no_bool>, "mod(a, b)", kRule,
     "remainder with the divisor's sign"},
    {"aten.remainder.Scalar", "self, other", kFamily, kLoop, covered<no_bool>, "mod(a, b)", "g",
     "remainder with the divisor's sign"},
    {"aten.fmod.Tensor", "self, other", kFamily, kLoop, covered<no_bool>, "fmod(a, b)", kRule,
     "remainder with the dividend's sign"},
    {"aten.fmod.Scalar", "self, other", kFamily, kLoop, covered<no_bool>, "fmod(a, b)", "g",
     "remainder with the dividend's sign"},
    {"aten.pow.Tensor_Scalar", "self, exponent", kFamily, kLoop, covered<pow_scalar>, "pow(a, b)", kRule,
     "a to the power of a number", "aten.pow_.Scalar"},
    {"aten.pow.Tensor_Tensor", "self, exponent", kFamily, kLoop, covered<no_bool>, "pow(a, b)",
     "a: where(b == 0, 0, g * (b * pow(a, b - 1))); b: g * where((a == 0) & (b >= 0), 0, y * log(a))",
     "a to the power of b", "aten.pow_.Tensor"},
    {"aten.pow.Scalar", "self, exponent", kFamily, kLoop, covered<pow_base>, "pow(a, b)", kRule,
     "a number to the power of b"},
    {"aten.maximum.default", "self, other", kFamily, kLoop, covered<binary>, "max(a, b)",
     "a: where(a < b, 0, where(a == b, g / 2, g)); b: where(a > b, 0, where(a == b, g / 2, g))",
     "larger of two, NaN wins"},
    {"aten.minimum.default", "self, other", kFamily, kLoop, covered<binary>, "min(a, b)",
     "a: where(a > b, 0, where(a == b, g / 2, g)); b: where(a < b, 0, where(a == b, g / 2, g))",
     "smaller of two, NaN wins"},
    {"aten.fmax.default", "self, other", kFamily, kLoop, covered<binary>,
     "where(isnan(a), b, where(isnan(b) | (a >= b), a, b))",
     "a: masked_fill(g, (a < b) | isnan(a), 0); b: masked_fill(g, (a >= b) | isnan(b), 0)",
     "larger of two, a NaN loses"},
    {"aten.fmin.default", "self, other", kFamily, kLoop, covered<binary>,
     "where(isnan(a), b, where(isnan(b) | (a <= b), a, b))",
     "a: masked_fill(g, (a > b) | isnan(a), 0); b: masked_fill(g, (a <= b) | isnan(b), 0)",
     "smaller of two, a NaN loses"},
    {"aten.copysign.Tensor", "self, other", kFamily, kLoop, covered<divide>, "copysign(a, b)", kRule,
     "the size of a with the sign of b"},
    {"aten.copysign.Scalar", "self, other", kFamily, kLoop, covered<divide>, "copysign(a, b)",
     "g * masked_fill(y / a, a == 0, 0)", "the size of a with a number's sign"},
    {"aten.logaddexp.default", "self, other", kFamily, kLoop, covered<floating_pair>,
     "where(isinf(a) & (a == b), a, max(a, b) + log1p(exp(-abs(a - b))))",
     "a: g / (exp(b - a) + 1); b: g / (exp(a - b) + 1)", "log(exp(a) + exp(b))"},
    {"aten.nextafter.default", "self, other", kFamily, kLoop, covered<nextafter>, "nextafter(a, b)",
     "borrowed(\"what it gives the second is contiguous, whatever that is\")",
     "the number next to a towards b", "aten.nextafter_.default", "", kOwnSteps},
    {"aten.heaviside.default", "self, values", kFamily, kLoop, covered<same_type>,
     "where(a == 0, b, where(a > 0, 1, 0))", "borrowed(\"PyTorch has none, and says so\")",
     "1 above 0, b at 0"},
    {"aten.__lshift__.Scalar", "self, other", kFamily, kLoop, covered<shift>, "shl(a, b)", kNoGradient,
     "bits moved up"},
    {"aten.__rshift__.Scalar", "self, other", kFamily, kLoop, covered<shift>, "shr(a, b)", kNoGradient,
     "bits moved down"},
    {"aten.bitwise_left_shift.Tensor_Scalar", "self, other", kFamily, kLoop, covered<shift>, "shl(a, b)",
     kNoGradient, "bits moved up"},
    {"aten.bitwise_right_shift.Tensor_Scalar", "self, other", kFamily, kLoop, covered<shift>, "shr(a, b)",
     kNoGradient, "bits moved down"},
    {"aten.xlogy.Tensor", "self, other", kFamily, kLoop, covered<divide>,
     "where(isnan(b), b, where(a == 0, 0, a * log(b)))", kRule, "a * log(b), 0 where a is"},
    {"aten._prelu_kernel.default", "self, weight", kFamily, kLoop, covered<prelu>, "where(a > 0, a, b * a)",
     "a: where(a > 0, g, g * b); b: where(a > 0, 0, a * g)", "a, sloped below 0"},
    {"aten.atan2.default", "self, other", kFamily, kLoop, covered<divide>, "atan2(a, b)", kRule,
     "angle of the point (b, a)"},
    {"aten.clamp.default", "self, min=None, max=None", kFamily, Lower::decompose, covered<clamp>, "", kRule,
     "limited to a range", "aten.clamp_.default"},
    {"aten.clamp.Tensor", "self, min=None, max=None", kFamily, Lower::decompose, covered<clamp>, "", kRule,
     "limited to a range of tensors"},
    {"aten.clamp_min.default", "self, min", kFamily, kLoop, covered<clamp_one>, "max(a, b)",
     "where(a >= b, g, 0)", "limited from below", "aten.clamp_min_.default"},
    {"aten.clamp_min.Tensor", "self, min", kFamily, kLoop, covered<clamp_one>, "max(a, b)",
     "a: where(a >= b, g, 0); b: where(a < b, g, 0)", "limited from below", "aten.clamp_min_.Tensor"},
    {"aten.clamp_max.default", "self, max", kFamily, kLoop, covered<clamp_one>, "min(a, b)",
     "where(a <= b, g, 0)", "limited from above", "aten.clamp_max_.default"},
    {"aten.clamp_max.Tensor", "self, max", kFamily, kLoop, covered<clamp_one>, "min(a, b)",
     "a: where(a <= b, g, 0); b: where(a > b, g, 0)", "limited from above", "aten.clamp_max_.Tensor"},
    {"aten.addcmul.default", "self, tensor1, tensor2, *, value=1", kFamily, kLoop, covered<addcmul>,
     "a + value * b * c", "a: g; b: g * (c * value); c: g * (b * value)", "a + value * b * c",
     "aten.addcmul_.default", "a + value * (b * c)", kWrapsAlike},
    {"aten.addcdiv.default", "self, tensor1, tensor2, *, value=1", kFamily, kLoop, covered<addcdiv>,
     "a + value * b / c", "a: g; b: g * (value / c); c: -g * (b * value / (c * c))", "a + value * b / c",
     "aten.addcdiv_.default", "a + value * (b / c)"},
    {"aten.lerp.Scalar", "self, end, weight", kFamily, kLoop, covered<lerp_scalar>,
     "where(abs(c) < 0.5, a + c * (b - a), b + (c - 1) * (b - a))", "a: g * (1 - c); b: g * c",
     "linear interpolation", "aten.lerp_.Scalar"},
    {"aten.lerp.Tensor", "self, end, weight", kFamily, kLoop, covered<lerp_tensor>,
     "where(abs(c) < 0.5, a + c * (b - a), b + (c - 1) * (b - a))",
     "a: g * (1 - c); b: g * c; c: g * (b - a)", "linear interpolation", "aten.lerp_.Tensor"},
};

}  // namespace vitrine::ops
