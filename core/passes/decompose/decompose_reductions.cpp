#include "core/passes/decompose/decompose_reductions.h"

#include <cmath>

#include "core/ops/promote.h"

namespace vitrine::passes {

namespace {

constexpr size_t kDims = 1;  // the argument, where it is the second

Ref extremum(NodeWriter& w, const char* op, Ref x, const Dims& dims) {
  return w.op(op, {x, Arg::ints(dims), Arg(true)});
}

// In the type in which the result is computed; that may be asked for.
Ref computed(NodeWriter& w, Ref x) {
  const DType compute = ops::opmath(w.node.type().dtype);
  return w.type(x).dtype == compute ? x : w.cast(x, compute);
}

}  // namespace

// sqrt(sum x^2), sum |x|, the largest or smallest |x|, how many are not 0. PyTorch takes the |x| of one
// element, whose square might overflow; other orders need powers, which it has as vectors.
OutputValues vector_norm(NodeWriter& w) {
  const double order = w.none(1) ? 2 : w.number(1);
  const Dims dims = w.dims(2);
  if (w.type(w.value(0)).numel() == 0 || w.count(w.value(0), dims) < 2) return std::nullopt;
  const Ref x = computed(w, w.value(0));
  const auto size = [&] { return w.unary("aten.abs.default", x); };
  Ref norm = x;
  if (order == 2)
    norm = w.unary("aten.sqrt.default", w.sum(w.mul(x, x), dims));
  else if (order == 1)
    norm = w.sum(size(), dims);
  else if (std::isinf(order))
    norm = extremum(w, order > 0 ? "aten.amax.default" : "aten.amin.default", size(), dims);
  else if (order == 0)
    norm = w.sum(w.cast(w.op("aten.ne.Scalar", {x, Arg(0)}), w.type(x).dtype), dims);
  else
    return std::nullopt;
  return w.one(w.reduced(norm, dims, w.flag(3)));
}

// log sum exp(x - m) + m, m the largest x, 0 where that is infinite
OutputValues logsumexp(NodeWriter& w) {
  const Dims dims = w.dims(kDims);
  if (w.type(w.value(0)).numel() == 0 || !ir::is_float(w.type(w.value(0)).dtype)) return std::nullopt;
  const Ref x = w.wide(0), largest = extremum(w, "aten.amax.default", x, dims);
  const Ref m =
      w.op("aten.masked_fill.Scalar", {largest, w.unary("aten.isinf.default", largest), Arg(int64_t{0})});
  const Ref sum = w.sum(w.unary("aten.exp.default", w.sub(x, m)), dims);
  return w.one(w.reduced(w.add(w.unary("aten.log.default", sum), m), dims, w.flag(2)));
}

// The sum of what is no NaN
OutputValues nansum(NodeWriter& w) {
  const Dims dims = w.dims(kDims);
  if (w.type(w.value(0)).numel() == 0) return std::nullopt;
  Ref x = computed(w, w.value(0));
  if (ir::is_float(w.type(x).dtype))
    x = w.op("aten.masked_fill.Scalar", {x, w.unary("aten.isnan.default", x), Arg(int64_t{0})});
  return w.one(w.reduced(w.sum(x, dims), dims, w.flag(2)));
}

OutputValues count_nonzero(NodeWriter& w) {
  const Dims dims = w.dims(kDims);
  if (w.type(w.value(0)).numel() == 0) return std::nullopt;
  return w.one(w.reduced(w.sum(w.op("aten.ne.Scalar", {w.value(0), Arg(int64_t{0})}), dims), dims, false));
}

OutputValues smallest_and_largest(NodeWriter& w) {
  const Dims dims = w.dims(kDims);
  const Ref x = w.value(0);
  if (w.type(x).numel() == 0) return std::nullopt;
  const auto result = [&](size_t i, const char* op) {
    return w.output(i, w.reduced(extremum(w, op, x, dims), dims, w.flag(2)));
  };
  const auto least = result(0, "aten.amin.default"), most = result(1, "aten.amax.default");
  return least && most ? OutputValues({*least, *most}) : std::nullopt;
}

}  // namespace vitrine::passes
