#include "core/passes/rewrite/window_means.h"

namespace vitrine::passes {

Dims both_sides(const NodeWriter& w, size_t argument) {
  Dims both = w.dims(argument);
  if (both.size() == 1) both.resize(2, both[0]);
  return both;
}

Ref window_tap(NodeWriter& w, Ref x, const Dims& at, const Dims& by) {
  for (size_t d = 0; d < 2; ++d) {
    const ir::Sym reach = (w.node.type().sizes[d + 2] - 1) * by[d] + 1;
    x = w.op("aten.slice.Tensor",
             {x, Arg(static_cast<int64_t>(d + 2)), Arg(at[d]), Arg(at[d] + reach), Arg(by[d])});
  }
  return x;
}

OutputValues mean_of_windows(NodeWriter& w, Ref x, const Dims& window, const Dims& by) {
  if (window[0] * window[1] > kMostTaps || window == Dims{1, 1}) return std::nullopt;
  const DType dtype = w.type(x).dtype;
  const bool low = dtype == DType::f16 || dtype == DType::bf16;
  std::optional<Ref> sum;
  for (int64_t i = 0; i < window[0]; ++i)
    for (int64_t j = 0; j < window[1]; ++j) {
      Ref next = window_tap(w, x, {i, j}, by);
      if (low) next = w.cast(next, DType::f32);
      sum = sum ? w.add(*sum, next) : next;
    }
  return w.one(w.div(*sum, Arg(static_cast<double>(window[0] * window[1]))));
}

}  // namespace vitrine::passes
