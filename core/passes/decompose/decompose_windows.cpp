#include "core/passes/decompose/decompose_windows.h"
#include "core/ir/each_integer.h"

namespace vitrine::passes {

namespace {

constexpr int64_t kMostTaps = 9;

// Pictures on a CPU, in rows, of a type that eager adds up in.
bool is_plain(const TensorType& t) {
  return t.sizes.size() == 4 && t.is_contiguous() && t.device.is_cpu() && t.numel() > 0 &&
         (t.dtype == DType::f32 || t.dtype == DType::f64);
}
Dims pair(const NodeWriter& w, size_t i) {
  Dims both = w.dims(i);
  if (both.size() == 1) both.resize(2, both[0]);
  return both;
}
// x[:, :, i + by * row, j + by * column] for each place of the result.
Ref tap(NodeWriter& w, Ref x, const Dims& at, const Dims& by) {
  for (size_t d = 0; d < 2; ++d) {
    const ir::Sym reach = (w.node.type().sizes[d + 2] - 1) * by[d] + 1;
    x = w.op("aten.slice.Tensor",
             {x, Arg(static_cast<int64_t>(d + 2)), Arg(at[d]), Arg(at[d] + reach), Arg(by[d])});
  }
  return x;
}
// In eager's order: row by row.
OutputValues mean_of_windows(NodeWriter& w, Ref x, const Dims& window, const Dims& by) {
  if (window[0] * window[1] > kMostTaps || window == Dims{1, 1}) return std::nullopt;
  std::optional<Ref> sum;
  for (int64_t i = 0; i < window[0]; ++i)
    for (int64_t j = 0; j < window[1]; ++j) {
      const Ref next = tap(w, x, {i, j}, by);
      sum = sum ? w.add(*sum, next) : next;
    }
  return w.one(w.div(*sum, Arg(static_cast<double>(window[0] * window[1]))));
}

}  // namespace

OutputValues avg_pool2d(NodeWriter& w) {
  Ref x = w.value(0);
  const Dims window = pair(w, 1), by = w.dims(2).empty() ? window : pair(w, 2), pad = pair(w, 3);
  const bool padded = pad[0] > 0 || pad[1] > 0;
  if (!is_plain(w.type(x)) || w.flag(4) || (padded && !w.flag(5)) || !w.none(6)) return std::nullopt;
  if (window[0] * window[1] > kMostTaps) return std::nullopt;
  if (padded)
    x = w.op("aten.constant_pad_nd.default", {x, Arg::ints({pad[1], pad[1], pad[0], pad[0]}), Arg(0)});
  return mean_of_windows(w, x, window, by);
}

// Where the windows are of one size and lie side by side.
OutputValues adaptive_avg_pool2d(NodeWriter& w) {
  const TensorType from = w.type(w.value(0)), &to = w.node.type();
  if (ir::has_expression(from) || ir::has_expression(to)) return std::nullopt;  // for some sizes it is so
  if (!is_plain(from) || from.sizes[2] % to.sizes[2] != 0 || from.sizes[3] % to.sizes[3] != 0)
    return std::nullopt;
  const Dims window = {from.sizes[2] / to.sizes[2], from.sizes[3] / to.sizes[3]};
  return mean_of_windows(w, w.value(0), window, window);
}

// The first of each window, where these are of one size.
OutputValues upsample_nearest2d(NodeWriter& w) {
  const TensorType from = w.type(w.value(0)), &to = w.node.type();
  if (ir::has_expression(from) || ir::has_expression(to)) return std::nullopt;  // for some sizes it is so
  if (from.sizes.size() != 4 || !from.is_contiguous() || !from.device.is_cpu()) return std::nullopt;
  Dims by;
  for (size_t d : {2, 3}) {
    if (from.sizes[d] % to.sizes[d] != 0) return std::nullopt;
    by.push_back(from.sizes[d] / to.sizes[d]);
    // Eager multiplies by what the program said: arguments 2 and 3.
    if (!w.none(d) && 1.0 / w.number(d) != static_cast<double>(by.back())) return std::nullopt;
  }
  if (by == Dims{1, 1}) return std::nullopt;
  return w.one(w.op("aten.clone.default", {tap(w, w.value(0), {0, 0}, by)},
                    {{"memory_format", Arg(ir::Word{"torch.contiguous_format"})}}));
}

}  // namespace vitrine::passes
