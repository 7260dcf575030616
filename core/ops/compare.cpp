// Comparisons, logic and selection.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

Types compare(const Call& c) {
  return pointwise(c, {0, 1}, PromotedType::boolean);
}
Types bitwise(const Call& c) {
  Types out = pointwise(c, {0, 1});
  need(!ir::is_float(out[0].dtype), "not defined for floating types");
  return out;
}
Types isinf(const Call& c) {
  need(ir::is_float(c.tensor(0).dtype), "integers are answered elsewhere");
  return unary_bool(c);
}

// The condition takes part in the layout, not in promotion.
Types where(const Call& c) {
  need(c.tensor(0).dtype == DType::b1, "the condition is not bool");
  Promotion promotion(c.default_dtype);
  promotion.argument(c, 1), promotion.argument(c, 2);
  DType common = promotion.result();
  TensorType condition = c.tensor(0), a = c.tensor(1), b = c.tensor(2);
  condition.dtype = common;
  return {elementwise({condition, a, b}, common, common)};
}

// The value is stored in self's type; the sizes are those of both together.
Types masked_fill(const Call& c) {
  need(c.tensor(1).dtype == DType::b1, "the mask is not bool");
  DType self = c.tensor(0).dtype;
  DType value = c.is_tensor(2) ? c.tensor(2).dtype : c.number_dtype(2);
  need(!c.is_tensor(2) || c.tensor(2).sizes.empty(), "the value has dimensions");
  need(c.is_tensor(2) || can_cast(value, self), "the value does not fit the type");
  Dims sizes = broadcast(c.tensor(0).sizes, c.tensor(1).sizes);
  return {TensorType::contiguous(self, sizes)};
}

}  // namespace

constexpr Family kFamily = Family::pointwise;
constexpr Lower kLoop = Lower::pointwise;
constexpr std::string_view kNoGradient = "nondifferentiable(\"the result is bool or integer\")";

const std::vector<OpRow> kCompare = {
    {"aten.eq.Tensor", "self, other", kFamily, kLoop, covered<compare>, "a == b", kNoGradient, "a == b"},
    {"aten.eq.Scalar", "self, other", kFamily, kLoop, covered<compare>, "a == b", kNoGradient, "a == number"},
    {"aten.ne.Tensor", "self, other", kFamily, kLoop, covered<compare>, "a != b", kNoGradient, "a != b"},
    {"aten.ne.Scalar", "self, other", kFamily, kLoop, covered<compare>, "a != b", kNoGradient, "a != number"},
    {"aten.lt.Tensor", "self, other", kFamily, kLoop, covered<compare>, "a < b", kNoGradient, "a < b"},
    {"aten.lt.Scalar", "self, other", kFamily, kLoop, covered<compare>, "a < b", kNoGradient, "a < number"},
    {"aten.le.Tensor", "self, other", kFamily, kLoop, covered<compare>, "a <= b", kNoGradient, "a <= b"},
    {"aten.le.Scalar", "self, other", kFamily, kLoop, covered<compare>, "a <= b", kNoGradient, "a <= number"},
    {"aten.gt.Tensor", "self, other", kFamily, kLoop, covered<compare>, "a > b", kNoGradient, "a > b"},
    {"aten.gt.Scalar", "self, other", kFamily, kLoop, covered<compare>, "a > b", kNoGradient, "a > number"},
    {"aten.ge.Tensor", "self, other", kFamily, kLoop, covered<compare>, "a >= b", kNoGradient, "a >= b"},
    {"aten.ge.Scalar", "self, other", kFamily, kLoop, covered<compare>, "a >= b", kNoGradient, "a >= number"},
    {"aten.logical_not.default", "self", kFamily, kLoop, covered<unary_bool>, "a == 0", kNoGradient, "not a",
     "aten.logical_not_.default"},
    {"aten.logical_and.default", "self, other", kFamily, kLoop, covered<compare>, "(a != 0) & (b != 0)",
     kNoGradient, "a and b", "aten.logical_and_.default"},
    {"aten.logical_or.default", "self, other", kFamily, kLoop, covered<compare>, "(a != 0) | (b != 0)",
     kNoGradient, "a or b", "aten.logical_or_.default"},
    {"aten.logical_xor.default", "self, other", kFamily, kLoop, covered<compare>, "(a != 0) != (b != 0)",
     kNoGradient, "either a or b", "aten.logical_xor_.default"},
    {"aten.bitwise_and.Tensor", "self, other", kFamily, kLoop, covered<bitwise>, "a & b", kNoGradient,
     "a & b", "aten.bitwise_and_.Tensor", "", kWrapsAlike},
    {"aten.bitwise_and.Scalar", "self, other", kFamily, kLoop, covered<bitwise>, "a & b", kNoGradient,
     "a & number", "aten.bitwise_and_.Scalar", "", kWrapsAlike},
    {"aten.bitwise_or.Tensor", "self, other", kFamily, kLoop, covered<bitwise>, "a | b", kNoGradient, "a | b",
     "aten.bitwise_or_.Tensor", "", kWrapsAlike},
    {"aten.bitwise_or.Scalar", "self, other", kFamily, kLoop, covered<bitwise>, "a | b", kNoGradient,
     "a | number", "aten.bitwise_or_.Scalar", "", kWrapsAlike},
    {"aten.bitwise_xor.Tensor", "self, other", kFamily, kLoop, covered<bitwise>, "a ^ b", kNoGradient,
     "a ^ b", "aten.bitwise_xor_.Tensor", "", kWrapsAlike},
    {"aten.bitwise_xor.Scalar", "self, other", kFamily, kLoop, covered<bitwise>, "a ^ b", kNoGradient,
     "a ^ number", "aten.bitwise_xor_.Scalar", "", kWrapsAlike},
    {"aten.isnan.default", "self", kFamily, kLoop, covered<unary_bool>, "a != a", kNoGradient,
     "whether a is NaN"},
    {"aten.isinf.default", "self", kFamily, kLoop, covered<isinf>, "isinf(a)", kNoGradient,
     "whether a is infinite"},
    {"aten.where.self", "condition, self, other", kFamily, kLoop, covered<where>, "where(a, b, c)",
     "b: where(a, g, 0); c: where(a, 0, g)", "b where the condition holds, else c"},
    {"aten.masked_fill.Scalar", "self, mask, value", kFamily, kLoop, covered<masked_fill>, "where(b, c, a)",
     "masked_fill(g, b, 0)", "a number where the mask holds", "aten.masked_fill_.Scalar"},
    {"aten.masked_fill.Tensor", "self, mask, value", kFamily, kLoop, covered<masked_fill>, "where(b, c, a)",
     kRule, "a 0-d tensor where the mask holds", "aten.masked_fill_.Tensor"},
};

}  // namespace vitrine::ops
