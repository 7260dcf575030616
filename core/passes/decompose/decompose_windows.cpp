#include "core/passes/decompose/decompose_windows.h"
#include "core/ir/each_integer.h"
#include "core/passes/rewrite/window_means.h"

namespace vitrine::passes {

namespace {

// Pictures on a CPU, in rows, of a type that eager adds up in.
bool is_plain(const TensorType& t) {
  return t.sizes.size() == 4 && t.is_contiguous() && t.device.is_cpu() && t.numel() > 0 &&
         (t.dtype == DType::f32 || t.dtype == DType::f64);
}

}  // namespace

OutputValues avg_pool2d(NodeWriter& w) {
  Ref x = w.value(0);
  const Dims window = both_sides(w, 1), by = w.dims(2).empty() ? window : both_sides(w, 2),
             pad = both_sides(w, 3);
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
  return w.one(w.op("aten.clone.default", {window_tap(w, w.value(0), {0, 0}, by)},
                    {{"memory_format", Arg(ir::Word{"torch.contiguous_format"})}}));
}

}  // namespace vitrine::passes
