#include "core/ops/rules.h"

namespace vitrine::ops {

Types pointwise(const Call& call, std::initializer_list<size_t> operands, PromotedType outcome) {
  Promotion promotion(call.default_dtype);
  std::vector<TensorType> types;
  bool any_tensor = false;
  for (size_t i : operands) {
    promotion.argument(call, i);
    any_tensor |= call.is_tensor(i);
    types.push_back(call.is_tensor(i) ? call.tensor(i) : TensorType{});
  }
  need(any_tensor, "no operand is a tensor");
  DType common = promotion.result();
  if (outcome == PromotedType::floating) common = floating_or(common, call.default_dtype);
  return {elementwise(std::move(types), common, outcome == PromotedType::boolean ? DType::b1 : common)};
}

Types unary(const Call& call) {
  return pointwise(call, {0});
}
Types unary_floating(const Call& call) {
  return pointwise(call, {0}, PromotedType::floating);
}
Types unary_float_only(const Call& call) {
  need(ir::is_float(call.tensor(0).dtype), "not defined for integers");
  return pointwise(call, {0});
}
Types unary_bool(const Call& call) {
  return pointwise(call, {0}, PromotedType::boolean);
}

}  // namespace vitrine::ops
