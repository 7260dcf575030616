#include "core/passes/decompose/decompose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/ops/promote.h"
#include "core/passes/cleanup/dce.h"
#include "core/passes/decompose/decompose_activations.h"
#include "core/passes/decompose/decompose_extrema.h"
#include "core/passes/decompose/decompose_losses.h"
#include "core/passes/decompose/decompose_norms.h"
#include "core/passes/decompose/decompose_pointwise.h"
#include "core/passes/decompose/decompose_reductions.h"
#include "core/passes/decompose/decompose_windows.h"

namespace vitrine::passes {

namespace {

using ir::Dims;
using ir::DType;

// gelu(x) = x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
OutputValues gelu(NodeWriter& w) {
  Ref x = w.wide(0);
  if (w.arg(1).as<std::string>() == "none") {
    Ref twice = w.add(w.unary("aten.erf.default", w.mul(x, 0.7071067811865476)), 1);
    return w.one(w.mul(w.mul(x, 0.5), twice));
  }
  Ref half = w.mul(x, 0.5);
  Ref cube = w.mul(w.mul(x, x), x);
  Ref inner = w.mul(w.add(x, w.mul(cube, 0.044715)), 0.7978845608028654);
  return w.one(w.mul(half, w.add(w.unary("aten.tanh.default", inner), 1)));
}

// clamp(x, low, high) = min(max(x, low), high)
OutputValues clamp(NodeWriter& w, const char* low, const char* high) {
  Ref x = w.value(0);
  auto bound = [&](size_t i) { return w.arg(i).is<Ref>() ? Arg(w.value(i)) : w.arg(i); };
  if (!w.none(1)) x = w.op(low, {x, bound(1)});
  if (!w.none(2)) x = w.op(high, {x, bound(2)});
  return w.one(x);
}
OutputValues clamp_numbers(NodeWriter& w) {
  return clamp(w, "aten.clamp_min.default", "aten.clamp_max.default");
}
OutputValues clamp_tensors(NodeWriter& w) {
  return clamp(w, "aten.clamp_min.Tensor", "aten.clamp_max.Tensor");
}

// softmax(x) = e / sum e, where e = exp(x - max x)
OutputValues softmax(NodeWriter& w) {
  Ref x = w.wide(0);
  Dims dims = w.dims(1);
  if (w.type(x).numel() == 0) return std::nullopt;
  Ref e = w.unary("aten.exp.default", w.sub(x, w.op("aten.amax.default", {x, Arg::ints(dims), Arg(true)})));
  return w.one(w.div(e, w.sum(e, dims)));
}

// softmax(x), 0 where a whole row is -inf. A type that is asked for is that of the computation.
OutputValues safe_softmax(NodeWriter& w) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const DType type = ops::opmath(w.node.type().dtype);
  Ref x = w.value(0);
  const Dims dims = w.dims(1);
  // To a narrower type it rounds first, and looks for -inf before.
  if (w.type(x).numel() == 0 || ir::dtype_bytes(w.node.type().dtype) < ir::dtype_bytes(w.type(x).dtype))
    return std::nullopt;
  if (w.type(x).dtype != type) x = w.cast(x, type);
  const Ref most = w.op("aten.amax.default", {x, Arg::ints(dims), Arg(true)});
  const Ref e = w.unary("aten.exp.default", w.sub(x, most)), y = w.div(e, w.sum(e, dims));
  return w.one(w.op("aten.masked_fill.Scalar", {y, w.op("aten.eq.Scalar", {most, Arg(kNone)}), Arg(0.0)}));
}

// log_softmax(x) = y - log sum exp y, where y = x - max x
OutputValues log_softmax(NodeWriter& w) {
  Ref x = w.wide(0);
  Dims dims = w.dims(1);
  if (w.type(x).numel() == 0) return std::nullopt;
  Ref y = w.sub(x, w.op("aten.amax.default", {x, Arg::ints(dims), Arg(true)}));
  Ref total = w.sum(w.unary("aten.exp.default", y), dims);
  return w.one(w.sub(y, w.unary("aten.log.default", total)));
}

// mean(x) = sum x / n
OutputValues mean(NodeWriter& w, const Dims& dims, bool keepdim) {
  Ref x = w.wide(0);
  DType out = w.node.type().dtype, compute = ops::opmath(out);
  if (w.type(x).dtype != compute) x = w.cast(x, compute);
  return w.one(w.reduced(w.mean(x, dims), dims, keepdim));
}
OutputValues mean_all(NodeWriter& w) {
  return mean(w, {}, false);
}
OutputValues mean_dims(NodeWriter& w) {
  return mean(w, w.dims(1), w.flag(2));
}

// var(x) = sum (x - mean)^2 / max(0, n - correction)
struct Moments {
  Ref variance, mean, squares;
};
Moments spread(NodeWriter& w, Ref x, const Dims& dims, double correction) {
  Ref mean = w.mean(x, dims);
  Ref centred = w.sub(x, mean);
  const ir::Sym count = w.count(x, dims);
  const auto whole = static_cast<int64_t>(correction);
  Ref squares = w.sum(w.mul(centred, centred), dims);
  if (count.symbolic() && correction == static_cast<double>(whole) && count > whole)
    return {w.div(squares, Arg(count - whole)), mean, squares};
  double divisor = static_cast<double>(count) - correction;
  return {w.div(squares, Arg(divisor > 0 ? divisor : 0.0)), mean, squares};
}
// On the CPU PyTorch computes it in f64, in which the squares of other types do not overflow.
Moments variance(NodeWriter& w) {
  Ref x = w.wide(0);
  if (w.type(x).device.is_cpu() && w.type(x).dtype == DType::f32) x = w.cast(w.value(0), DType::f64);
  return spread(w, x, w.dims(1), w.none(2) ? 1.0 : w.number(2));
}
OutputValues var(NodeWriter& w) {
  return w.one(w.reduced(variance(w).variance, w.dims(1), w.flag(3)));
}
OutputValues standard_deviation(NodeWriter& w) {
  return w.one(w.reduced(w.unary("aten.sqrt.default", variance(w).variance), w.dims(1), w.flag(3)));
}
// Beside a spread PyTorch's mean moves on from element to element: one that is infinite makes it a NaN at the
// next, as it does the sum of squares.
OutputValues with_mean(NodeWriter& w, Ref spread, const Moments& s) {
  Ref mean = s.mean;
  if (w.count(w.value(0), w.dims(1)) > 1)
    mean = w.op("aten.where.self", {w.unary("aten.isnan.default", s.squares), s.squares, mean});
  auto first = w.output(0, w.reduced(spread, w.dims(1), w.flag(3)));
  auto second = w.output(1, w.reduced(mean, w.dims(1), w.flag(3)));
  return first && second ? OutputValues({*first, *second}) : std::nullopt;
}
OutputValues var_mean(NodeWriter& w) {
  Moments s = variance(w);
  return with_mean(w, s.variance, s);
}
OutputValues std_mean(NodeWriter& w) {
  Moments s = variance(w);
  return with_mean(w, w.unary("aten.sqrt.default", s.variance), s);
}

// layer_norm(x) = (x - mean) / sqrt(var + eps) * weight + bias
OutputValues layer_norm(NodeWriter& w) {
  Ref x = w.wide(0);
  if (w.type(x).numel() == 0) return std::nullopt;
  Dims dims;
  for (size_t i = w.dims(1).size(); i > 0; --i) dims.push_back(-static_cast<int64_t>(i));
  Moments s = spread(w, x, dims, 0);
  Ref scale = w.unary("aten.rsqrt.default", w.add(s.variance, w.arg(4)));
  Ref y = w.mul(w.sub(x, s.mean), scale);
  if (!w.none(2)) y = w.mul(y, w.wide(2));
  if (!w.none(3)) y = w.add(y, w.wide(3));
  auto out = w.output(0, y), mean = w.output(1, s.mean), rstd = w.output(2, scale);
  return out && mean && rstd ? OutputValues({*out, *mean, *rstd}) : std::nullopt;
}

// Inference: batch_norm(x) = x * a + (bias - mean * a) by channel, where a = weight / sqrt(var + eps)
OutputValues channel_affine(NodeWriter& w, size_t eps) {
  Ref x = w.wide(0);
  Dims shape(w.type(x).sizes.size(), 1);
  shape[1] = w.type(x).sizes[1];
  Ref a = w.unary("aten.rsqrt.default", w.add(w.wide(4), w.arg(eps)));
  if (!w.none(1)) a = w.mul(a, w.wide(1));
  Ref b = w.mul(w.wide(3), a);
  b = w.none(2) ? w.unary("aten.neg.default", b) : w.op("aten.sub.Tensor", {w.wide(2), b});
  auto channels = [&](Ref v) { return w.op("aten.view.default", {v, Arg::ints(shape)}); };
  auto out = w.output(0, w.add(w.mul(x, channels(a)), channels(b)));
  if (!out) return std::nullopt;
  OutputValues all({*out});
  for (size_t i = 1; i < w.node.outputs.size(); ++i) all->push_back(w.empty(i));
  return all;
}
OutputValues batch_norm(NodeWriter& w) {
  return w.flag(5) ? std::nullopt : channel_affine(w, 7);
}
OutputValues batch_norm_no_training(NodeWriter& w) {
  return channel_affine(w, 6);
}

// gelu'(x) = P(x) + x p(x), distribution function and density of the normal distribution; or, with
// t = tanh(b (x + k x^3)): (1 + t)/2 + x/2 (1 - t^2) b (1 + 3 k x^2)
OutputValues gelu_backward(NodeWriter& w) {
  Ref g = w.wide(0), x = w.wide(1), square = w.mul(x, x);
  constexpr double kB = 0.7978845608028654, kK = 0.044715;
  if (w.arg(2).as<std::string>() == "none") {
    Ref p = w.mul(w.add(w.unary("aten.erf.default", w.mul(x, 0.7071067811865476)), 1), 0.5);
    Ref density = w.mul(w.unary("aten.exp.default", w.mul(square, -0.5)), 0.3989422804014327);
    return w.one(w.mul(g, w.add(p, w.mul(x, density))));
  }
  Ref t = w.unary("aten.tanh.default", w.mul(w.add(x, w.mul(w.mul(square, x), kK)), kB));
  Ref steep = w.mul(w.add(w.mul(square, 3 * kK), 1), kB);
  Ref flat = w.unary("aten.neg.default", w.sub(w.mul(t, t), 1));
  Ref right = w.mul(w.mul(w.mul(x, 0.5), flat), steep);
  return w.one(w.mul(g, w.add(w.mul(w.add(t, 1), 0.5), right)));
}

// g 2 (x - y), by the number of elements for a mean
OutputValues mse_loss_backward(NodeWriter& w) {
  Ref x = w.wide(1);
  if (w.type(x).numel() == 0) return std::nullopt;
  const ir::Sym count = w.number(3) == 1 ? w.type(x).numel() : ir::Sym(1);
  if (count.symbolic()) return w.one(w.mul(w.div(w.mul(w.sub(x, w.wide(2)), 2.0), Arg(count)), w.wide(0)));
  const auto n = static_cast<double>(count);
  return w.one(w.mul(w.mul(w.sub(x, w.wide(2)), 2 / n), w.wide(0)));
}

// (g - sum g y) y
OutputValues softmax_backward(NodeWriter& w) {
  Ref g = w.wide(0), y = w.wide(1);
  if (w.type(y).numel() == 0) return std::nullopt;
  return w.one(w.mul(w.sub(g, w.sum(w.mul(g, y), w.dims(2))), y));
}

// g - exp(y) sum g
OutputValues log_softmax_backward(NodeWriter& w) {
  Ref g = w.wide(0), y = w.wide(1);
  if (w.type(y).numel() == 0) return std::nullopt;
  return w.one(w.sub(g, w.mul(w.unary("aten.exp.default", y), w.sum(g, w.dims(2)))));
}

// The largest of each window, where nobody asks for its place: of its rows first, then of its columns, both
// of the image with -inf around it.
OutputValues max_pool2d(NodeWriter& w) {
  const TensorType type = w.type(w.value(0));
  const bool plain = type.sizes.size() == 4 && type.is_contiguous() && type.device.is_cpu();
  if (!plain || w.flag(5) || w.used(1) || (type.dtype != DType::f32 && type.dtype != DType::f64))
    return std::nullopt;
  const auto pair = [&](size_t i) {
    Dims both = w.dims(i);
    if (both.size() == 1) both.resize(2, both[0]);
    return both;
  };
  const Dims window = pair(1), by = w.dims(2).empty() ? window : pair(2), pad = pair(3), apart = pair(4);
  constexpr int64_t kMostTaps = 16;  // of a row or column
  if (std::max(window[0], window[1]) > kMostTaps || window == Dims{1, 1}) return std::nullopt;
  Ref out = w.value(0);
  if (pad[0] > 0 || pad[1] > 0)
    out = w.op("aten.constant_pad_nd.default", {out, Arg::ints({pad[1], pad[1], pad[0], pad[0]}),
                                                Arg(-std::numeric_limits<double>::infinity())});
  for (size_t d = 0; d < 2; ++d) {
    const auto dim = static_cast<int64_t>(d + 2);
    const ir::Sym reach = (w.node.type().sizes[d + 2] - 1) * by[d] + 1;
    std::optional<Ref> most;
    for (int64_t tap = 0; tap < window[d]; ++tap) {
      const int64_t first = tap * apart[d];
      Ref at = w.op("aten.slice.Tensor", {out, Arg(dim), Arg(first), Arg(first + reach), Arg(by[d])});
      most = most ? w.op("aten.maximum.default", {*most, at}) : at;
    }
    out = *most;
  }
  auto largest = w.output(0, out);
  return largest ? OutputValues({*largest, w.empty(1)}) : std::nullopt;
}

// Every type holds it as it is.
bool is_short(double v) {
  int exponent = 0;
  const double digits = std::ldexp(std::frexp(v, &exponent), 8);
  return digits == std::trunc(digits) && exponent > -14 && exponent < 16;
}

// index_add(x, i, a source) = index_add(x, i, source * a), of which the product is no kernel on a GPU
OutputValues scaled_index_add(NodeWriter& w) {
  const TensorType& out = w.node.type();
  const bool covered = out.device.is_cuda() && (ir::is_float(out.dtype) || !w.arg(4).is<double>()) &&
                       out.dtype != DType::b1 && (w.arg(4).is<int64_t>() || w.arg(4).is<double>());
  if (!covered || w.number(4) == 1 || (ir::dtype_bytes(out.dtype) == 2 && !is_short(w.number(4))))
    return std::nullopt;
  return w.one(
      w.op("aten.index_add.default", {w.value(0), w.arg(1), w.value(2), w.mul(w.value(3), w.arg(4))}));
}

struct DecompositionRow {
  std::string_view op;
  OutputValues (*write)(NodeWriter&);
};
constexpr DecompositionRow kRules[] = {
    {"aten.gelu.default", gelu},
    {"aten.clamp.default", clamp_numbers},
    {"aten.clamp.Tensor", clamp_tensors},
    {"aten._softmax.default", softmax},
    {"aten._safe_softmax.default", safe_softmax},
    {"aten._log_softmax.default", log_softmax},
    {"aten.mean.default", mean_all},
    {"aten.mean.dim", mean_dims},
    {"aten.var.correction", var},
    {"aten.std.correction", standard_deviation},
    {"aten.var_mean.correction", var_mean},
    {"aten.std_mean.correction", std_mean},
    {"aten.nansum.default", nansum},
    {"aten.aminmax.default", smallest_and_largest},
    {"aten.count_nonzero.default", count_nonzero},
    {"aten.count_nonzero.dim_IntList", count_nonzero},
    {"aten.logsumexp.default", logsumexp},
    {"aten.linalg_vector_norm.default", vector_norm},
    {"aten.norm.ScalarOpt_dim", vector_norm},
    {"aten.div.Tensor_mode", divide_rounded},
    {"aten.div.Scalar_mode", divide_rounded},
    {"aten.nan_to_num.default", nan_to_num},
    {"aten.logit.default", logit},
    {"aten.logit_backward.default", logit_backward},
    {"aten.celu.default", celu},
    {"aten.glu.default", glu},
    {"aten.glu_backward.default", glu_backward},
    {"aten.log_sigmoid_forward.default", log_sigmoid_forward},
    {"aten.native_layer_norm.default", layer_norm},
    {"aten.native_batch_norm.default", batch_norm},
    {"aten.cudnn_batch_norm.default", batch_norm},
    {"aten._native_batch_norm_legit.default", batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm_no_training},
    {"aten.gelu_backward.default", gelu_backward},
    {"aten.mse_loss_backward.default", mse_loss_backward},
    {"aten._softmax_backward_data.default", softmax_backward},
    {"aten._log_softmax_backward_data.default", log_softmax_backward},
    {"aten.nll_loss_forward.default", nll_loss},
    {"aten.nll_loss_backward.default", nll_loss_backward},
    {"aten.nll_loss2d_forward.default", nll_loss},
    {"aten.nll_loss2d_backward.default", nll_loss_backward},
    {"aten.mse_loss.default", mse_loss},
    {"aten.smooth_l1_loss.default", smooth_l1_loss},
    {"aten.huber_loss.default", huber_loss},
    {"aten.soft_margin_loss.default", soft_margin_loss},
    {"aten.binary_cross_entropy_with_logits.default", binary_cross_entropy_with_logits},
    {"aten.native_layer_norm_backward.default", layer_norm_backward},
    {"aten.native_group_norm.default", group_norm},
    {"aten._fused_rms_norm.default", rms_norm},
    {"aten._fused_rms_norm_backward.default", rms_norm_backward},
    {"aten.native_batch_norm_backward.default", batch_norm_backward},
    {"aten.cudnn_batch_norm_backward.default", cudnn_batch_norm_backward},
    {"aten.max_pool2d_with_indices.default", max_pool2d},
    {"aten.avg_pool2d.default", avg_pool2d},
    {"aten._adaptive_avg_pool2d.default", adaptive_avg_pool2d},
    {"aten.upsample_nearest2d.default", upsample_nearest2d},
    {"aten.max.dim", largest_along},
    {"aten.min.dim", smallest_along},
    {"aten.argmax.default", largest_place},
    {"aten.argmin.default", smallest_place},
    {"aten.index_add.default", scaled_index_add},
};

std::set<Ref> used_values(const ir::Graph& graph, const std::vector<bool>& live) {
  std::set<Ref> used;
  const auto use = [&](Ref r) { used.emplace(r.node, r.output); };
  for (size_t i = 0; i < live.size(); ++i)
    if (live[i]) ir::each_ref(graph.nodes()[i], use);
  for (const Arg& result : graph.results()) ir::each_ref(result, use);
  return used;
}

// The formulas are those of real numbers.
bool has_complex(const ir::Graph& graph, const Node& node) {
  const auto complex = [](const TensorType& t) { return ir::is_complex(t.dtype); };
  bool found = std::ranges::any_of(node.outputs, complex);
  ir::each_ref(node, [&](Ref r) {
    found = found || complex(graph.node(r.node).outputs.at(static_cast<size_t>(r.output)));
  });
  return found;
}

const DecompositionRow* rule_for(const Node& node) {
  for (const DecompositionRow& rule : kRules) {
    if (node.op == rule.op) return &rule;
  }
  return nullptr;
}

template <class Wanted>
GraphPtr written_out(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids, Wanted wanted) {
  Rewriter out(graph, ids, "decompose", true);
  // What nobody uses goes first: it may read an output that is not made.
  const std::vector<bool> live = live_nodes(*graph);
  const std::set<Ref> used = used_values(*graph, live);
  for (const Node& node : graph->nodes()) {
    if (!live[graph->position(node.id)]) {
      out.drop(node);
      continue;
    }
    const DecompositionRow* rule = wanted(node) && !has_complex(*graph, node) ? rule_for(node) : nullptr;
    if (rule)
      write_or_keep(out, node, used, rule->write);
    else
      out.keep(node);
  }
  return out.finish();
}

}  // namespace

GraphPtr decompose(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return written_out(graph, ids, [](const Node&) { return true; });
}

GraphPtr decompose_softmax(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return written_out(graph, ids, [](const Node& node) {
    return node.op == "aten._softmax.default" || node.op == "aten._log_softmax.default";
  });
}

}  // namespace vitrine::passes
