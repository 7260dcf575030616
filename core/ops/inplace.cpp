// Operators that write an argument. The output is the written tensor itself.
// core/passes/cleanup/functionalise rewrites one to its functional form ("aten.add_.Tensor" ->
// "aten.add.Tensor") when nobody sees the storage.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

// The result must fit self: its sizes, and no fall in category of type.
Types stored(const Call& c, const Types& result) {
  const TensorType& self = c.tensor(0);
  need(result[0].sizes == self.sizes, "the result has other sizes");
  need(can_cast(result[0].dtype, self.dtype), "the result does not fit the type");
  return {self};
}
bool any_bool(const Call& c) {
  return c.tensor(0).dtype == DType::b1 ||
         (c.is_tensor(1) ? c.tensor(1).dtype == DType::b1 : c.number_dtype(1) == DType::b1);
}
Types binary(const Call& c) {
  return stored(c, pointwise(c, {0, 1}));
}
Types add(const Call& c) {
  Types out = binary(c);
  DType alpha = c.number_dtype(2), common = out[0].dtype;
  need((!ir::is_float(alpha) || ir::is_float(common)) && alpha != DType::b1, "alpha does not fit");
  return out;
}
Types sub(const Call& c) {
  need(!any_bool(c), "bools do not subtract");
  return add(c);
}
Types divide(const Call& c) {
  return stored(c, pointwise(c, {0, 1}, Outcome::floating));
}
Types unary_same(const Call& c) {
  need(c.tensor(0).dtype != DType::b1, "not defined for bool");
  return {c.tensor(0)};
}
Types unary_float(const Call& c) {
  need(ir::is_float(c.tensor(0).dtype), "not defined for integers");
  return {c.tensor(0)};
}
Types clamp(const Call& c) {
  need(c.tensor(0).dtype != DType::b1 && !(c.none(1) && c.none(2)), "bounds");
  Promotion promotion(c.default_dtype);
  promotion.argument(c, 0);
  for (size_t i : {1, 2}) {
    if (!c.none(i)) promotion.argument(c, i);
  }
  need(can_cast(promotion.result(), c.tensor(0).dtype), "the result does not fit the type");
  return {c.tensor(0)};
}
Types clamp_one(const Call& c) {
  need(c.tensor(0).dtype != DType::b1, "not defined for bool");
  return binary(c);
}
// Operands of self's own floating type.
Types scaled(const Call& c) {
  for (size_t i : {1, 2}) need(!c.is_tensor(i) || c.tensor(i).dtype == c.tensor(0).dtype, "types differ");
  return stored(c, pointwise(c, c.is_tensor(2) ? std::initializer_list<size_t>{0, 1, 2}
                                               : std::initializer_list<size_t>{0, 1}));
}
Types scaled_float(const Call& c) {
  need(ir::is_float(c.tensor(0).dtype), "not defined for integers");
  return scaled(c);
}
Types masked_fill(const Call& c) {
  need(c.tensor(1).dtype == DType::b1, "the mask is not bool");
  need(broadcast(c.tensor(0).sizes, c.tensor(1).sizes) == c.tensor(0).sizes, "sizes");
  if (c.is_tensor(2)) {
    need(c.tensor(2).sizes.empty(), "the value has dimensions");
    return {c.tensor(0)};
  }
  need(can_cast(c.number_dtype(2), c.tensor(0).dtype), "the value does not fit the type");
  return {c.tensor(0)};
}
Types copy(const Call& c) {
  need(broadcast(c.tensor(0).sizes, c.tensor(1).sizes) == c.tensor(0).sizes, "sizes");
  return {c.tensor(0)};
}
Types fill(const Call& c) {
  if (c.is_tensor(1)) need(c.tensor(1).sizes.empty(), "the value has dimensions");
  return {c.tensor(0)};
}
Types self(const Call& c) {
  return {c.tensor(0)};
}
Types index_put(const Call& c) {
  need(c.tensor(2).dtype == c.tensor(0).dtype, "types differ");
  return {c.tensor(0)};
}

}  // namespace

constexpr Family kPoint = Family::pointwise;
constexpr Family kMemory = Family::memory;
constexpr Lower kLower = Lower::opaque;

const std::vector<OpRow> kInplace = {
    {"aten.add_.Tensor", "self!, other, *, alpha=1", kPoint, kLower, covered<add>, "", kFunctional,
     "self += alpha * b"},
    {"aten.add_.Scalar", "self!, other, alpha=1", kPoint, kLower, covered<add>, "", kFunctional,
     "self += alpha * number"},
    {"aten.sub_.Tensor", "self!, other, *, alpha=1", kPoint, kLower, covered<sub>, "", kFunctional,
     "self -= alpha * b"},
    {"aten.sub_.Scalar", "self!, other, alpha=1", kPoint, kLower, covered<sub>, "", kFunctional,
     "self -= alpha * number"},
    {"aten.mul_.Tensor", "self!, other", kPoint, kLower, covered<binary>, "", kFunctional, "self *= b"},
    {"aten.mul_.Scalar", "self!, other", kPoint, kLower, covered<binary>, "", kFunctional, "self *= number"},
    {"aten.div_.Tensor", "self!, other", kPoint, kLower, covered<divide>, "", kFunctional, "self /= b"},
    {"aten.div_.Scalar", "self!, other", kPoint, kLower, covered<divide>, "", kFunctional, "self /= number"},
    {"aten.addcmul_.default", "self!, tensor1, tensor2, *, value=1", kPoint, kLower, covered<scaled_float>,
     "", kFunctional, "self += value * b * c"},
    {"aten.addcdiv_.default", "self!, tensor1, tensor2, *, value=1", kPoint, kLower, covered<scaled_float>,
     "", kFunctional, "self += value * b / c"},
    {"aten.lerp_.Scalar", "self!, end, weight", kPoint, kLower, covered<scaled_float>, "", kFunctional,
     "linear interpolation"},
    {"aten.lerp_.Tensor", "self!, end, weight", kPoint, kLower, covered<scaled_float>, "", kFunctional,
     "linear interpolation"},
    {"aten.relu_.default", "self!", kPoint, kLower, covered<unary_same>, "", kFunctional, "max(self, 0)"},
    {"aten.neg_.default", "self!", kPoint, kLower, covered<unary_same>, "", kFunctional, "-self"},
    {"aten.abs_.default", "self!", kPoint, kLower, covered<unary_same>, "", kFunctional, "|self|"},
    {"aten.exp_.default", "self!", kPoint, kLower, covered<unary_float>, "", kFunctional, "exp(self)"},
    {"aten.log_.default", "self!", kPoint, kLower, covered<unary_float>, "", kFunctional, "log(self)"},
    {"aten.sqrt_.default", "self!", kPoint, kLower, covered<unary_float>, "", kFunctional, "sqrt(self)"},
    {"aten.rsqrt_.default", "self!", kPoint, kLower, covered<unary_float>, "", kFunctional, "1 / sqrt(self)"},
    {"aten.sigmoid_.default", "self!", kPoint, kLower, covered<unary_float>, "", kFunctional,
     "sigmoid(self)"},
    {"aten.tanh_.default", "self!", kPoint, kLower, covered<unary_float>, "", kFunctional, "tanh(self)"},
    {"aten.silu_.default", "self!", kPoint, kLower, covered<unary_float>, "", kFunctional, "silu(self)"},
    {"aten.sin_.default", "self!", kPoint, kLower, covered<unary_float>, "", kFunctional, "sin(self)"},
    {"aten.cos_.default", "self!", kPoint, kLower, covered<unary_float>, "", kFunctional, "cos(self)"},
    {"aten.clamp_.default", "self!, min=None, max=None", kPoint, kLower, covered<clamp>, "", kFunctional,
     "limited to a range"},
    {"aten.clamp_min_.default", "self!, min", kPoint, kLower, covered<clamp_one>, "", kFunctional,
     "limited from below"},
    {"aten.clamp_max_.default", "self!, max", kPoint, kLower, covered<clamp_one>, "", kFunctional,
     "limited from above"},
    {"aten.clamp_min_.Tensor", "self!, min", kPoint, kLower, covered<clamp_one>, "", kFunctional,
     "limited from below"},
    {"aten.clamp_max_.Tensor", "self!, max", kPoint, kLower, covered<clamp_one>, "", kFunctional,
     "limited from above"},
    {"aten.hardtanh_.default", "self!, min_val=-1, max_val=1", kPoint, kLower, covered<unary_float>, "",
     kFunctional, "limited to a range"},
    {"aten.leaky_relu_.default", "self!, negative_slope=0.01", kPoint, kLower, covered<unary_float>, "",
     kFunctional, "self, or slope * self below 0"},
    {"aten.masked_fill_.Scalar", "self!, mask, value", kPoint, kLower, covered<masked_fill>, "", kFunctional,
     "a number written where the mask holds"},
    {"aten.masked_fill_.Tensor", "self!, mask, value", kPoint, kLower, covered<masked_fill>, "", kFunctional,
     "a 0-d tensor written where the mask holds"},
    {"aten.copy_.default", "self!, src, non_blocking=False", kMemory, kLower, covered<copy>, "", kFunctional,
     "src written into self"},
    {"aten.fill_.Scalar", "self!, value", kMemory, kLower, covered<fill>, "", kFunctional,
     "a number written everywhere"},
    {"aten.fill_.Tensor", "self!, value", kMemory, kLower, covered<fill>, "", kFunctional,
     "a 0-d tensor written everywhere"},
    {"aten.zero_.default", "self!", kMemory, kLower, covered<self>, "", kFunctional,
     "zeros written everywhere"},
    {"aten.index_put_.default", "self!, indices, values, accumulate=False", kMemory, kLower,
     covered<index_put>, "", kFunctional, "self[i, j, ...] = values"},
    {"aten.scatter_.value", "self!, dim, index, value", kMemory, kLower, nullptr, "", kFunctional,
     "a number written at indexed places"},
    {"aten.scatter_.src", "self!, dim, index, src", kMemory, kLower, nullptr, "", kFunctional,
     "elements written at indexed places"},
    {"aten.scatter_add_.default", "self!, dim, index, src", kMemory, kLower, nullptr, "", kFunctional,
     "elements added at indexed places"},
};

}  // namespace vitrine::ops
