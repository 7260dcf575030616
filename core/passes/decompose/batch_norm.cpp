#include "core/passes/decompose/batch_norm.h"

#include "core/passes/rewrite/storage.h"
#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

namespace {

// Sums are those of f64, as in PyTorch; what it keeps in a tensor is rounded to the tensor's type:
//   mean = sum x / n, spread = sum (x - mean)^2, r = 1 / sqrt(spread / n + eps)
//   y = x a + (bias - mean a), a = r weight
//   running mean' = m mean + (1 - m) running mean
//   running variance' = m spread / (n - 1) + (1 - m) running variance
class Training {
 public:
  explicit Training(NodeWriter& w) : w_(w), x_(w.value(0)), type_(w.type(x_)) {
    over_ = {0};
    for (size_t d = 2; d < type_.sizes.size(); ++d) over_.push_back(static_cast<int64_t>(d));
    n_ = w.count(x_, over_);
  }

  bool covers() const {
    const bool type = type_.dtype == DType::f32 || type_.dtype == DType::f64;
    return type && type_.device.is_cpu() && type_.sizes.size() >= 2 && n_ > 1;
  }

  OutputValues write() {
    const Ref mean =
        own(n_.symbolic() ? w_.div(sum(x_), Arg(n_)) : w_.mul(sum(x_), 1 / static_cast<double>(n_)));
    const Ref centred = w_.sub(x_, mean), spread = own(sum(w_.mul(centred, centred)));
    const Ref variance = wide(w_.div(spread, NodeWriter::divisor(n_)));
    const Ref r = own(w_.unary("aten.rsqrt.default", w_.add(variance, w_.arg(7))));
    const Ref a = w_.none(1) ? r : w_.mul(r, channels(w_.value(1)));
    const Ref down = w_.mul(mean, a);
    const Ref b = w_.none(2) ? w_.unary("aten.neg.default", down) : w_.sub(channels(w_.value(2)), down);
    const auto y = w_.output(0, w_.add(w_.mul(x_, a), b));
    const auto kept_mean = w_.output(1, mean), kept_r = w_.output(2, r);
    if (!y || !kept_mean || !kept_r) return std::nullopt;
    update(3, mean), update(4, w_.div(spread, NodeWriter::divisor(n_ - 1)));
    return OutputValues({*y, *kept_mean, *kept_r});
  }

 private:
  Ref channels(Ref v) {
    Dims shape(type_.sizes.size(), 1);
    shape[1] = type_.sizes[1];
    return w_.op("aten.view.default", {v, Arg::ints(shape)});
  }
  Ref wide(Ref v) { return w_.type(v).dtype == DType::f64 ? v : w_.cast(v, DType::f64); }
  Ref own(Ref v) { return w_.type(v).dtype == type_.dtype ? v : w_.cast(v, type_.dtype); }
  Ref sum(Ref v) {
    return w_.op("aten.sum.dim_IntList", {v, Arg::ints(over_), Arg(true)}, {{"dtype", Arg(DType::f64)}});
  }
  void update(size_t i, Ref now) {
    if (w_.none(i)) return;
    const Ref running = w_.value(i);
    const double m = w_.number(6);
    const Ref flat = w_.op("aten.view.default", {now, Arg::ints({type_.sizes[1]})});
    const Ref value = w_.add(w_.mul(wide(flat), m), w_.mul(wide(running), 1 - m));
    w_.op("aten.copy_.default", {running, own(value)});
  }

  NodeWriter& w_;
  Ref x_;
  TensorType type_;
  Dims over_;
  ir::Sym n_ = 0;
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

}  // namespace vitrine::passes
