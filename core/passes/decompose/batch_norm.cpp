#include "core/passes/decompose/batch_norm.h"

#include <unordered_set>

#include "core/passes/rewrite/storage.h"
#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

namespace {

// Sums are those of f64; what PyTorch keeps in a tensor is rounded to the tensor's type:
//   mean = sum x / n, spread = sum (x - mean)^2, r = 1 / sqrt(spread / n + eps)
//   y = x a + (bias - mean a), a = r weight
//   running mean' = m mean + (1 - m) running mean
//   running variance' = m spread / (n - 1) + (1 - m) running variance
// On a GPU x is read once for both sums: of f32 and less, spread = sum x^2 - n mean^2 is as exact in f64 as
// PyTorch's kernels are in f32.
class Training {
 public:
  explicit Training(NodeWriter& w) : w_(w), x_(w.value(0)), type_(w.type(x_)) {
    over_ = {0};
    for (size_t d = 2; d < type_.sizes.size(); ++d) over_.push_back(static_cast<int64_t>(d));
    n_ = w.count(x_, over_);
    own_ = w.node.outputs.at(1).dtype;
  }

  bool covers() const {
    const bool type = type_.dtype == DType::f32 || type_.dtype == DType::f64 ||
                      (type_.device.is_cuda() && (type_.dtype == DType::f16 || type_.dtype == DType::bf16));
    return type && type_.sizes.size() >= 2 && n_ > 1;
  }

  OutputValues write() {
    const Sums s = type_.device.is_cuda() && type_.dtype != DType::f64 ? sums_at_once() : sums_in_turn();
    const Ref variance = wide(w_.div(s.spread, NodeWriter::divisor(n_)));
    const Ref r = own(w_.unary("aten.rsqrt.default", w_.add(variance, w_.arg(7))));
    const Ref a = w_.none(1) ? r : w_.mul(r, channels(w_.value(1)));
    const auto y = w_.output(0, type_.device.is_cuda() ? centred(s.mean, a) : at_once(s.mean, a));
    const auto kept_mean = w_.output(1, s.mean), kept_r = w_.output(2, r);
    if (!y || !kept_mean || !kept_r) return std::nullopt;
    update(3, s.mean), update(4, w_.div(s.spread, NodeWriter::divisor(n_ - 1)));
    return OutputValues({*y, *kept_mean, *kept_r});
  }

 private:
  struct Sums {
    Ref mean, spread;
  };
  Sums sums_in_turn() {
    const Ref mean =
        own(n_.symbolic() ? w_.div(sum(x_), Arg(n_)) : w_.mul(sum(x_), 1 / static_cast<double>(n_)));
    const Ref centred = w_.sub(x_, mean);
    return {mean, own(sum(w_.mul(centred, centred)))};
  }
  Sums sums_at_once() {
    const Ref x = w_.cast(x_, DType::f64), total = sum(x), squares = sum(w_.mul(x, x));
    const Ref mean = w_.div(total, NodeWriter::divisor(n_));
    return {own(mean), w_.unary("aten.relu.default", w_.sub(squares, w_.mul(total, mean)))};
  }
  // As PyTorch's kernels for a GPU: of a channel that is one number all over, 0 is left.
  Ref centred(Ref mean, Ref a) {
    const Ref x = w_.mul(w_.sub(w_.wide(0), mean), a);
    return w_.none(2) ? x : w_.add(x, channels(w_.value(2)));
  }
  // As those for a CPU.
  Ref at_once(Ref mean, Ref a) {
    const Ref down = w_.mul(mean, a);
    const Ref b = w_.none(2) ? w_.unary("aten.neg.default", down) : w_.sub(channels(w_.value(2)), down);
    return w_.add(w_.mul(w_.wide(0), a), b);
  }
  Ref channels(Ref v) {
    Dims shape(type_.sizes.size(), 1);
    shape[1] = type_.sizes[1];
    return w_.op("aten.view.default", {v, Arg::ints(shape)});
  }
  Ref wide(Ref v) { return w_.type(v).dtype == DType::f64 ? v : w_.cast(v, DType::f64); }
  Ref own(Ref v) { return as(v, own_); }
  Ref as(Ref v, DType type) { return w_.type(v).dtype == type ? v : w_.cast(v, type); }
  Ref sum(Ref v) {
    return w_.op("aten.sum.dim_IntList", {v, Arg::ints(over_), Arg(true)}, {{"dtype", Arg(DType::f64)}});
  }
  void update(size_t i, Ref now) {
    if (w_.none(i)) return;
    const Ref running = w_.value(i);
    const double m = w_.number(6);
    const Ref flat = w_.op("aten.view.default", {now, Arg::ints({type_.sizes[1]})});
    const Ref value = w_.add(w_.mul(wide(flat), m), w_.mul(wide(running), 1 - m));
    w_.op("aten.copy_.default", {running, as(value, w_.type(running).dtype)});
  }

  NodeWriter& w_;
  Ref x_;
  TensorType type_;
  Dims over_;
  ir::Sym n_ = 0;
  DType own_;  // of the statistics
};

bool trains(const Node& node) {
  return node.op == "aten.native_batch_norm.default" || node.op == "aten._native_batch_norm_legit.default";
}

// Whether a running statistic shares memory with another argument: PyTorch then reads what it has just
// written.
bool shares(const Storages& storages, const std::vector<Arg>& args) {
  for (size_t written : {3, 4})
    for (size_t i = 0; i < 5; ++i)
      if (i != written && args[i].is<Ref>() && args[written].is<Ref>() &&
          storages.group(args[i].as<Ref>().node) == storages.group(args[written].as<Ref>().node))
        return true;
  return false;
}

}  // namespace

GraphPtr batch_norm(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "batch_norm", true);
  const Storages storages(*graph);
  const std::set<Ref> used;
  for (const Node& node : graph->nodes()) {
    auto args = trains(node) ? ops::bind(*ops::find(node.op), node) : Error{};
    OutputValues values;
    if (args.ok()) {
      NodeWriter w(out, node, args.value(), used);
      if (Training norm(w); w.flag(5) && norm.covers() && !shares(storages, args.value()))
        values = norm.write();
    }
    if (values)
      out.replace(node, *values);
    else
      out.keep(node);
  }
  return out.finish();
}

namespace {

constexpr std::string_view kForward = "aten.cudnn_batch_norm.default",
                           kBackward = "aten.cudnn_batch_norm_backward.default";

// Those of cuDNN in training whose statistics nobody reads but their derivatives.
std::unordered_set<NodeId> replaceable(const ir::Graph& graph) {
  std::unordered_set<NodeId> found;
  for (const Node& n : graph.nodes())
    if (n.op == kForward && n.kwargs.empty() && n.args.size() == 8 && n.args[5] == Arg(true))
      found.insert(n.id);
  const auto is_read = [&](Ref r) {
    if (r.output > 0) found.erase(r.node);
  };
  for (const Node& n : graph.nodes())
    if (n.op != kBackward || !n.kwargs.empty() || n.args.size() != 9) ir::each_ref(n, is_read);
  for (const Arg& r : graph.results()) ir::each_ref(r, is_read);
  return found;
}

void plain_forward(Rewriter& out, const Node& node) {
  std::vector<Arg> args;
  for (const Arg& a : node.args) args.push_back(out.mapped(a));
  const DType type = node.type().dtype == DType::f64 ? DType::f64 : DType::f32;
  TensorType statistics = TensorType::contiguous(type, {node.type().sizes.at(1)});
  statistics.device = node.type().device;
  const Ref y = out.emit(node, "aten.native_batch_norm.default", std::move(args), {},
                         {node.type(), statistics, statistics});
  out.replace(node, {Arg(y), Arg(Ref{y.node, 1}), Arg(Ref{y.node, 2}), Arg()});
}

// The reserve is the forward's, which there is none of any more.
void plain_backward(Rewriter& out, const Node& node) {
  const auto arg = [&](size_t i) { return out.mapped(node.args[i]); };
  const std::vector<Arg> all = {Arg(true), Arg(true), Arg(true)};
  const Ref dx = out.emit(node, "aten.native_batch_norm_backward.default",
                          {arg(1), arg(0), arg(2), Arg(), Arg(), arg(5), arg(6), Arg(true), arg(7), Arg(all)},
                          {}, node.outputs);
  out.replace(node, {Arg(dx), Arg(Ref{dx.node, 1}), Arg(Ref{dx.node, 2})});
}

}  // namespace

GraphPtr plain_batch_norm(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "plain_batch_norm");
  const std::unordered_set<NodeId> forward = replaceable(*graph);
  for (const Node& node : graph->nodes()) {
    const bool backward = node.op == kBackward && node.kwargs.empty() && node.args.size() == 9 &&
                          node.args[8].is<Ref>() && forward.contains(node.args[8].as<Ref>().node);
    if (forward.contains(node.id))
      plain_forward(out, node);
    else if (backward)
      plain_backward(out, node);
    else
      out.keep(node);
  }
  return out.finish();
}

}  // namespace vitrine::passes
