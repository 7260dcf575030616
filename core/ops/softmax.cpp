// Softmax and its logarithm along one dimension.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

// half_to_float exists for other devices only.
Types softmax(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(ir::is_float(t.dtype) && !c.flag(2), "not a floating type");
  wrap_dim(c.integer(1), t.sizes.size());
  return {TensorType::contiguous(t.dtype, t.sizes)};
}
Types safe_softmax(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(ir::is_float(t.dtype) && c.none(2), "not a floating type");
  wrap_dim(c.integer(1), t.sizes.size());
  return {TensorType::contiguous(t.dtype, t.sizes)};
}

}  // namespace

const std::vector<OpRow> kSoftmax = {
    {"aten._softmax.default", "self, dim, half_to_float", Family::reduction, Lower::decompose,
     covered<softmax>, "", kRule, "exp(a - max) / sum of exp(a - max)"},
    {"aten._log_softmax.default", "self, dim, half_to_float", Family::reduction, Lower::decompose,
     covered<softmax>, "", kRule, "a - max - log of the sum of exp(a - max)"},
    {"aten._safe_softmax.default", "self, dim, dtype=None", Family::reduction, Lower::decompose,
     covered<safe_softmax>, "", kRule, "softmax, 0 where a whole row is -inf"},
};

}  // namespace vitrine::ops
