// Loss functions that PyTorch keeps whole.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

constexpr int64_t kNoReduction = 0;

// reduction 0: element-wise, 1: mean, 2: sum.
Types pair_loss(const Call& c, int64_t reduction) {
  TensorType out = pointwise(c, {0, 1})[0];
  need(ir::is_float(out.dtype), "not a floating type");
  return {reduction == kNoReduction ? out : TensorType::contiguous(out.dtype, {})};
}
Types mse(const Call& c) {
  return pair_loss(c, c.integer(2));
}

Types with_number(const Call& c) {
  need(c.number(3) > 0, "a width of nothing");
  return pair_loss(c, c.integer(2));
}
// Of one layout, in rows.
Types plain_pair(const Call& c, int64_t reduction) {
  const TensorType &self = c.tensor(0), &target = c.tensor(1);
  need(self == target && self.is_contiguous(), "types");
  return pair_loss(c, reduction);
}
Types soft_margin(const Call& c) {
  return plain_pair(c, c.integer(2));
}
Types cross_entropy(const Call& c, size_t reduction) {
  for (size_t i = 2; i < reduction; ++i) {
    const TensorType* w = c.tensor_or_null(i);
    need(!w || (w->dtype == c.tensor(0).dtype && w->sizes.size() <= c.tensor(0).sizes.size()), "weight");
    for (size_t d = 0; w && d < w->sizes.size(); ++d) {
      const Sym n = w->sizes[w->sizes.size() - 1 - d],
                all = c.tensor(0).sizes[c.tensor(0).sizes.size() - 1 - d];
      need(n == 1 || n == all, "weight");
    }
  }
  return plain_pair(c, c.integer(reduction));
}
Types bce_with_logits(const Call& c) {
  return cross_entropy(c, 4);
}

// Scores (n, classes, ...) and class indices (n, ...); the total weight is a 0-d tensor.
Types nll_of(const Call& c, size_t dims) {
  const TensorType &scores = c.tensor(0), &target = c.tensor(1);
  need(ir::is_float(scores.dtype) && target.dtype == DType::i64, "types");
  Dims places = scores.sizes;
  need(places.size() == dims, "dimensions");
  places.erase(places.begin() + 1);
  need(target.sizes == places, "sizes");
  const TensorType* weight = c.tensor_or_null(2);
  need(!weight || (weight->dtype == scores.dtype && weight->sizes == Dims{scores.sizes[1]}), "weight");
  TensorType total = TensorType::contiguous(scores.dtype, {});
  if (c.integer(3) == kNoReduction) return {TensorType::contiguous(scores.dtype, target.sizes), total};
  return {total, total};
}
Types nll(const Call& c) {
  return nll_of(c, 2);
}
Types nll2d(const Call& c) {
  return nll_of(c, 4);
}

}  // namespace

constexpr Family kFamily = Family::reduction;

const std::vector<OpRow> kLoss = {
    {"aten.mse_loss.default", "self, target, reduction=1", kFamily, Lower::decompose, covered<mse>, "", kRule,
     "squared difference"},
    {"aten.smooth_l1_loss.default", "self, target, reduction=1, beta=1.0", kFamily, Lower::decompose,
     covered<with_number>, "", kRule, "squared difference near 0, absolute difference elsewhere"},
    {"aten.huber_loss.default", "self, target, reduction=1, delta=1.0", kFamily, Lower::decompose,
     covered<with_number>, "", kRule, "the same times delta"},
    {"aten.soft_margin_loss.default", "self, target, reduction=1", kFamily, Lower::decompose,
     covered<soft_margin>, "", kRule, "log(1 + exp(-target self))"},
    {"aten.binary_cross_entropy_with_logits.default",
     "self, target, weight=None, pos_weight=None, reduction=1", kFamily, Lower::decompose,
     covered<bce_with_logits>, "", kRule, "cross entropy of the sigmoid"},
    {"aten.nll_loss_forward.default", "self, target, weight, reduction, ignore_index", kFamily,
     Lower::decompose, covered<nll>, "", kRule, "negative score of the right class, and the total weight"},
    {"aten.nll_loss2d_forward.default", "self, target, weight, reduction, ignore_index", kFamily,
     Lower::decompose, covered<nll2d>, "", kRule, "the same at each place of pictures"},
};

}  // namespace vitrine::ops
