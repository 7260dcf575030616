#include "core/passes/decompose/decompose_pointwise.h"

#include <limits>

#include "core/ops/promote.h"

namespace vitrine::passes {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

double largest(DType t) {
  constexpr double kHalf = 65504, kBrain = 3.3895313892515355e38;
  if (t == DType::f16) return kHalf;
  if (t == DType::bf16) return kBrain;
  return t == DType::f32 ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max();
}
Ref filled(NodeWriter& w, Ref x, Ref where, double by) {
  return w.op("aten.masked_fill.Scalar", {x, where, Arg(by)});
}
Ref of_both(NodeWriter& w, const char* op, Ref a, Ref b) {
  return w.op(op, {a, b});
}
// Not within low..high. A NaN is outside on the CPU, as in PyTorch's vectors, and inside on a GPU.
Ref outside(NodeWriter& w, Ref x, double low, double high) {
  const auto compare = [&](const char* op, double bound) { return w.op(op, {x, Arg(bound)}); };
  if (w.type(x).device.is_cuda())
    return of_both(w, "aten.bitwise_or.Tensor", compare("aten.lt.Scalar", low),
                   compare("aten.gt.Scalar", high));
  return w.unary(
      "aten.logical_not.default",
      of_both(w, "aten.bitwise_and.Tensor", compare("aten.ge.Scalar", low), compare("aten.le.Scalar", high)));
}
// 1 - x
Ref rest(NodeWriter& w, Ref x) {
  return w.op("aten.rsub.Scalar", {x, Arg(1)});
}

}  // namespace

// a / b, floor(a / b) as Python's //, trunc(a / b). Integers rounded to zero are PyTorch's.
OutputValues divide_rounded(NodeWriter& w) {
  const DType type = w.node.type().dtype;
  if (!ir::is_float(type) && !ir::is_integer(type)) return std::nullopt;
  const auto operand = [&](size_t i, bool wide) {  // either may be a number
    if (!w.arg(i).is<Ref>()) return w.arg(i);
    return Arg(wide ? w.wide(i) : w.value(i));
  };
  const auto divide = [&](bool wide) {
    return w.op("aten.div.Tensor", {operand(0, wide), operand(1, wide)});
  };
  if (w.none(2)) return w.one(divide(false));
  if (w.arg(2).as<std::string>() == "floor")
    return w.one(w.op("aten.floor_divide.default", {operand(0, false), operand(1, false)}));
  if (!ir::is_float(type)) return std::nullopt;
  Ref quotient = divide(true);
  // PyTorch cuts what a low type holds of the quotient, if not one number divides all.
  const auto several = [&](const ir::TensorType& by) { return by.device.is_cuda() || !by.numel().same(1); };
  if (w.arg(1).is<Ref>() && several(w.type(w.value(1))) && w.type(quotient).dtype != type)
    quotient = w.cast(w.cast(quotient, type), w.type(quotient).dtype);
  return w.one(w.unary("aten.trunc.default", quotient));
}

OutputValues nan_to_num(NodeWriter& w) {
  const DType type = w.node.type().dtype;
  if (!ir::is_float(type)) return std::nullopt;
  const auto given = [&](size_t i, double otherwise) { return w.none(i) ? otherwise : w.number(i); };
  const Ref x = w.wide(0);
  Ref y = filled(w, x, w.unary("aten.isnan.default", x), given(1, 0));
  y = filled(w, y, w.op("aten.eq.Scalar", {x, Arg(kInf)}), given(2, largest(type)));
  return w.one(filled(w, y, w.op("aten.eq.Scalar", {x, Arg(-kInf)}), given(3, -largest(type))));
}

// log(x / (1 - x)), x limited to eps..1 - eps
OutputValues logit(NodeWriter& w) {
  const DType compute = ops::opmath(w.node.type().dtype);
  Ref x = w.value(0);
  if (w.type(x).dtype != compute) x = w.cast(x, compute);
  if (!w.none(1)) x = w.op("aten.clamp_min.default", {x, w.arg(1)});
  if (!w.none(1)) x = w.op("aten.clamp_max.default", {x, Arg(1 - w.number(1))});
  return w.one(w.unary("aten.log.default", w.div(x, rest(w, x))));
}

// g / (x (1 - x)); where x was limited 0, where it had no logarithm NaN
OutputValues logit_backward(NodeWriter& w) {
  const Ref g = w.wide(0), x = w.wide(1);
  const Ref slope = w.div(g, w.mul(x, rest(w, x)));
  const double low = w.none(2) ? 0 : w.number(2);
  return w.one(filled(w, slope, outside(w, x, low, 1 - low), w.none(2) ? kNan : 0));
}

}  // namespace vitrine::passes
