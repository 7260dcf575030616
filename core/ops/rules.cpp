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

Sym spatial(const Dims& list, size_t i) {
  need(!list.empty(), "an empty list");
  return list.size() == 1 ? list[0] : list.at(i);
}

Sym pooled_size(const Sym& size, const Sym& kernel, const Sym& stride, const Sym& pad, const Sym& dilation,
                bool ceil) {
  need(stride > 0 && kernel > 0 && dilation > 0 && pad >= 0 && 2 * pad <= (kernel - 1) * dilation + 1,
       "window");
  const Sym top = size + 2 * pad - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : Sym(0));
  need(top >= 0, "the window is larger than the input");
  Sym out = floordiv(top, stride) + 1;
  if (ceil && (out - 1) * stride >= size + pad) out -= 1;
  need(out > 0, "output size");
  return out;
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
