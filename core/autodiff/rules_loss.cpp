// Gradients of losses of pairs, and of their mean: by element, and then by the number of elements.
#include "core/autodiff/rules.h"

namespace vitrine::autodiff {

namespace {

constexpr int64_t kMean = 1;

// g is divided by their number: an expression is as good as a number.
void share(Vjp& v, size_t reduction) {
  v.let("g", v.g());
  if (v.integer(reduction) != kMean) return;
  v.let("count", Arg(v.type(v.in(0)).numel()));
  v.let("g", v.eval("g / count"));
}
// d, the slope for self, is minus that for target. Contiguous, however the arguments lie.
void both_ways(Vjp& v, Ref slope) {
  slope = v.contiguous(slope);
  if (v.wants(0)) v.give(0, slope);
  if (v.wants(1)) v.give(1, v.op("aten.neg.default", {slope}));
}

// y = d^2 / (2 beta) for |d| < beta, else |d| - beta / 2, where d = a - b: g limited to d / beta in [-1, 1]
void smooth_l1_loss(Vjp& v) {
  if (v.type(v.in(0)).numel() == 0) refuse("a loss of nothing");
  share(v, 2);
  v.let("d", v.eval("a - b")), v.let("low", Arg(-v.number(3)));
  both_ways(v, v.eval("where(d <= low, -g, where(d >= beta, g, d * g / beta))"));
}
// The same times delta.
void huber_loss(Vjp& v) {
  if (v.type(v.in(0)).numel() == 0) refuse("a loss of nothing");
  share(v, 2);
  v.let("d", v.eval("a - b")), v.let("low", Arg(-v.number(3)));
  both_ways(v, v.eval("where(d <= low, g * low, where(d >= delta, g * delta, d * g))"));
}

// y = log(1 + z), z = exp(-b a): -b z / (1 + z) g
void soft_margin_loss(Vjp& v) {
  if (v.wants(1)) refuse("the target has a gradient");
  if (v.type(v.in(0)).numel() == 0) refuse("a loss of nothing");
  share(v, 2);
  v.let("z", v.eval("exp(-b * a)"));
  v.give(0, v.eval("-b * z / (z + 1) * g"));
}

Ref weighted(Vjp& v, Ref slope, size_t weight, size_t reduction) {
  v.let("slope", slope);
  if (!v.none(weight)) v.let("slope", v.op("aten.mul.Tensor", {slope, v.in(weight)}));
  if (v.integer(reduction) != kMean) return v.name("slope")->as<Ref>();
  const ir::Sym count = v.type(v.in(0)).numel();
  v.let("count", count.symbolic() ? Arg(count) : Arg(static_cast<double>(count)));
  return v.eval("slope / count");
}
// y = (1 - b) a - log sigmoid(a), the latter times 1 + (p - 1) b: g (sigmoid(a) - b), or with t = p b:
// g ((t + 1 - b) sigmoid(a) - t)
void bce_with_logits(Vjp& v) {
  if (v.wants(1) || (!v.none(2) && v.wants(2)) || (!v.none(3) && v.wants(3)))
    refuse("the target has a gradient");
  if (v.type(v.in(0)).numel() == 0) refuse("a loss of nothing");
  if (ir::dtype_bytes(v.type(v.in(0)).dtype) < 4) refuse("half precision");
  if (!v.none(3)) v.let("t", v.op("aten.mul.Tensor", {v.in(3), v.in(1)}));
  const char* slope = v.none(3) ? "(sigmoid(a) - b) * g" : "((t + 1 - b) * sigmoid(a) - t) * g";
  v.give(0, weighted(v, v.eval(slope), 2, 4));
}

}  // namespace

const std::vector<RuleRow> kLossRules = {
    {"aten.smooth_l1_loss.default", smooth_l1_loss},
    {"aten.huber_loss.default", huber_loss},
    {"aten.soft_margin_loss.default", soft_margin_loss},
    {"aten.binary_cross_entropy_with_logits.default", bce_with_logits},
};

}  // namespace vitrine::autodiff
