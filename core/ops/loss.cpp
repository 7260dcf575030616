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
    {"aten.mse_loss.default", "self, target, reduction=1", kFamily, Lower::opaque, covered<mse>, "", kRule,
     "squared difference"},
    {"aten.nll_loss_forward.default", "self, target, weight, reduction, ignore_index", kFamily,
     Lower::decompose, covered<nll>, "", kRule, "negative score of the right class, and the total weight"},
    {"aten.nll_loss2d_forward.default", "self, target, weight, reduction, ignore_index", kFamily,
     Lower::decompose, covered<nll2d>, "", kRule, "the same at each place of pictures"},
};

}  // namespace vitrine::ops
