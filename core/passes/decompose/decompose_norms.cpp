#include "core/passes/decompose/decompose_norms.h"

#include <limits>

namespace vitrine::passes {

namespace {

// Dims of a tensor of this rank before, and from, the normalised ones.
Dims from_to(size_t from, size_t to) {
  Dims out;
  for (size_t d = from; d < to; ++d) out.push_back(static_cast<int64_t>(d));
  return out;
}
// Each wanted output as it must be; nullopt: one cannot be had.
OutputValues outputs(NodeWriter& w, std::initializer_list<std::optional<Ref>> values) {
  if (w.node.outputs.size() != values.size()) return std::nullopt;
  OutputValues out = std::vector<Arg>();
  size_t i = 0;
  for (const std::optional<Ref>& v : values) {
    std::optional<Arg> made = v ? w.output(i, *v) : std::optional(w.empty(i));
    if (!made) return std::nullopt;
    out->push_back(*made);
    ++i;
  }
  return out;
}
bool wanted(const NodeWriter& w, size_t mask, size_t i) {
  return w.arg(mask).as<std::vector<Arg>>().at(i).as<bool>();
}
// A gradient by columns: its sum over the other dims.
Ref by_columns(NodeWriter& w, Ref x, size_t axis) {
  return axis == 0 ? x : w.sum(x, from_to(0, axis));
}

// A vector of the channels, beside a tensor with these in dim 1.
Ref channels(NodeWriter& w, Ref v, Ref x) {
  Dims shape(w.type(x).sizes.size(), 1);
  shape[1] = w.type(x).sizes[1];
  return w.op("aten.view.default", {v, Arg::ints(shape)});
}

// With c = x - mean, r = 1 / deviation, dot = sum g c by channel:
// weight' = r dot, bias' = sum g, and in training x' = (g - mean g - c r^2 dot / n) r weight, else g r weight
struct BatchNorm {
  Ref grad, x, mean, inverse;
  std::optional<Ref> weight;
  bool training;
};
struct BatchGradients {
  Ref x, weight, bias;
};
BatchGradients batch_gradients(NodeWriter& w, const BatchNorm& n) {
  Dims over = {0};
  for (size_t d = 2; d < w.type(n.x).sizes.size(); ++d) over.push_back(static_cast<int64_t>(d));
  const ir::Sym count = w.count(n.x, over);
  // The mean of what was added up.
  const auto by_count = [&](Ref v) {
    return count.symbolic() ? w.div(v, Arg(count)) : w.mul(v, 1 / static_cast<double>(count));
  };
  const Ref centred = w.sub(n.x, channels(w, n.mean, n.x)), inverse = channels(w, n.inverse, n.x);
  // In f64, as in PyTorch on the CPU: they go over whole batches of images.
  const bool exact = w.type(n.x).device.is_cpu() && w.type(n.x).dtype == DType::f32;
  const auto total = [&](Ref v) {
    if (!exact) return w.sum(v, over);
    return w.cast(w.op("aten.sum.dim_IntList", {v, Arg::ints(over), Arg(true)}, {{"dtype", Arg(DType::f64)}}),
                  DType::f32);
  };
  const Ref sum = total(n.grad), dot = total(w.mul(n.grad, centred));
  const Ref scale = n.weight ? w.mul(inverse, channels(w, *n.weight, n.x)) : inverse;
  Ref dx = n.grad;
  if (n.training) {
    const Ref slope = by_count(w.mul(w.mul(inverse, inverse), dot));
    dx = w.sub(w.sub(n.grad, by_count(sum)), w.mul(centred, slope));
  }
  return {w.mul(dx, scale), w.mul(dot, inverse), sum};
}

}  // namespace

// With y = (x - mean) r, h = g weight: x' = (h - mean h - y mean h y) r, weight' = sum g y, bias' = sum g
OutputValues layer_norm_backward(NodeWriter& w) {
  const Ref g = w.wide(0), x = w.wide(1), mean = w.wide(3), r = w.wide(4);
  const size_t rank = w.type(x).sizes.size(), axis = rank - w.dims(2).size();
  if (w.type(x).numel() == 0) return std::nullopt;
  const Dims rows = from_to(axis, rank);
  const Ref y = w.mul(w.sub(x, mean), r);
  std::optional<Ref> dx, dw, db;
  if (wanted(w, 7, 0)) {
    const Ref h = w.none(5) ? g : w.mul(g, w.wide(5));
    dx = w.mul(w.sub(w.sub(h, w.mean(h, rows)), w.mul(y, w.mean(w.mul(h, y), rows))), r);
  }
  if (wanted(w, 7, 1) && !w.none(5)) dw = by_columns(w, w.mul(g, y), axis);
  if (wanted(w, 7, 2) && !w.none(6)) db = by_columns(w, g, axis);
  return outputs(w, {dx, dw, db});
}

// r = 1 / sqrt(mean x^2 + eps); x r weight. Without an eps it is that of the type of the mean.
OutputValues rms_norm(NodeWriter& w) {
  if (w.type(w.value(0)).numel() == 0) return std::nullopt;
  const Ref x = w.wide(0);
  const size_t rank = w.type(x).sizes.size(), axis = rank - w.dims(1).size();
  const Ref square = w.mean(w.mul(x, x), from_to(axis, rank));
  const double least = w.type(x).dtype == DType::f64 ? std::numeric_limits<double>::epsilon()
                                                     : double{std::numeric_limits<float>::epsilon()};
  const Ref r = w.unary("aten.rsqrt.default", w.add(square, w.none(3) ? Arg(least) : w.arg(3)));
  const Ref y = w.mul(x, r);
  return outputs(w, {w.none(2) ? y : w.mul(y, w.wide(2)), r});
}

// With y = x r, h = g weight: x' = (h - y mean h y) r, weight' = sum g y
OutputValues rms_norm_backward(NodeWriter& w) {
  const Ref g = w.wide(0), x = w.wide(1), r = w.wide(3);
  const size_t rank = w.type(x).sizes.size(), axis = rank - w.dims(2).size();
  if (w.type(x).numel() == 0) return std::nullopt;
  const Ref y = w.mul(x, r);
  std::optional<Ref> dx, dw;
  if (wanted(w, 5, 0)) {
    const Ref h = w.none(4) ? g : w.mul(g, w.wide(4));
    dx = w.mul(w.sub(h, w.mul(y, w.mean(w.mul(h, y), from_to(axis, rank)))), r);
  }
  if (wanted(w, 5, 1) && !w.none(4)) dw = by_columns(w, w.mul(g, y), axis);
  return outputs(w, {dx, dw});
}

namespace {

// A tensor (n, channels, ...) in rows as (n, groups, channels of a group, places), and vectors of the
// channels beside it.
struct ChannelGroups {
  ir::Sym n, groups, channels, places;

  Ref of(NodeWriter& w, Ref x) const { return view(w, x, {n, groups, channels, places}); }
  Ref by_channel(NodeWriter& w, Ref v) const { return view(w, v, {groups, channels, 1}); }
  // On a CPU a few long rows are read again from memory, which PyTorch's own kernel does once.
  bool many(const NodeWriter& w) const {
    constexpr int64_t kFewRows = 8;
    return n > 0 && channels * places > 1 &&
           ((n * groups).hint() >= kFewRows || w.node.type().device.is_cuda());
  }

 private:
  static Ref view(NodeWriter& w, Ref v, const Dims& sizes) {
    return w.op("aten.view.default", {v, Arg::ints(sizes)});
  }
};
// The arguments N, C, HxW, group.
ChannelGroups groups(const NodeWriter& w) {
  const auto number = [&](size_t i) { return w.arg(i).as<ir::Sym>(); };
  return {number(3), number(6), ir::floordiv(number(4), number(6)), number(5)};
}

}  // namespace

// (x - mean) / sqrt(var + eps) * weight + bias, mean and var of a group of channels
OutputValues group_norm(NodeWriter& w) {
  const ChannelGroups as = groups(w);
  if (!as.many(w)) return std::nullopt;
  const Dims group = {2, 3};
  const Ref x = as.of(w, w.wide(0)), mean = w.mean(x, group), centred = w.sub(x, mean);
  const Ref variance = w.mean(w.mul(centred, centred), group);
  const Ref r = w.unary("aten.rsqrt.default", w.add(variance, w.arg(7)));
  Ref y = w.mul(centred, r);
  if (!w.none(1)) y = w.mul(y, as.by_channel(w, w.wide(1)));
  if (!w.none(2)) y = w.add(y, as.by_channel(w, w.wide(2)));
  return outputs(w, {y, mean, r});
}

OutputValues batch_norm_backward(NodeWriter& w) {
  const bool training = w.flag(7);
  if (w.type(w.value(1)).numel() == 0 || w.none(training ? 5 : 3) || w.none(training ? 6 : 4))
    return std::nullopt;
  // The gradient of the image, which tells its type, may be unasked for.
  const auto wide = [&](size_t i) {
    const Ref v = w.value(i);
    const DType type = w.type(v).dtype;
    return type == DType::f16 || type == DType::bf16 ? w.cast(v, DType::f32) : v;
  };
  const Ref inverse = training ? wide(6) : w.unary("aten.rsqrt.default", w.add(wide(4), w.arg(8)));
  const BatchGradients all =
      batch_gradients(w, {wide(0), wide(1), wide(training ? 5 : 3), inverse,
                          w.none(2) ? std::nullopt : std::optional(wide(2)), training});
  auto some = [&](size_t i, Ref v) { return wanted(w, 9, i) ? std::optional(v) : std::nullopt; };
  return outputs(w, {some(0, all.x), some(1, all.weight), some(2, all.bias)});
}

OutputValues cudnn_batch_norm_backward(NodeWriter& w) {
  if (w.type(w.value(0)).numel() == 0 || w.none(5) || w.none(6)) return std::nullopt;
  const BatchGradients all =
      batch_gradients(w, {w.wide(1), w.wide(0), w.wide(5), w.wide(6), w.wide(2), true});
  return outputs(w, {all.x, all.weight, all.bias});
}

}  // namespace vitrine::passes
