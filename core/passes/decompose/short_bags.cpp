#include "core/passes/decompose/short_bags.h"

#include <algorithm>
#include <vector>

#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

constexpr int64_t kMostPlaces = 8;

bool is_lookup(const Node& node) {
  return node.op == "aten.embedding.default" && node.type().device.is_cuda();
}

class ShortBags {
 public:
  ShortBags(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids)
      : graph_(graph), out_(graph, ids, "short_bags", true), users_(graph->users()) {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      if (is_short_sum(node) && out_.may_rewrite(node))
        out_.replace(node, {Arg(written_out(node))});
      else
        out_.keep(node);
    }
    return out_.finish();
  }

 private:
  static bool is_mean(const Node& node) { return node.op == "aten.mean.dim"; }
  bool is_short_sum(const Node& node) const {
    if (node.kind != ir::NodeKind::op || !(is_mean(node) || node.op == "aten.sum.dim_IntList")) return false;
    if (node.args.size() != 2 || !node.kwargs.empty() || !node.args[0].is<Ref>() ||
        !(node.args[1] == Arg::ints({1})))
      return false;
    const Node& rows = graph_->node(node.args[0].as<Ref>().node);
    const bool read_besides = users_[graph_->position(rows.id)].size() > 1 || out_.is_result(rows.id);
    if (!is_lookup(rows) || read_besides) return false;
    const TensorType& type = rows.type();
    return type.sizes.size() == 3 && !type.sizes[1].symbolic() && type.sizes[1].hint() > 1 &&
           type.sizes[1].hint() <= kMostPlaces && type.dtype == node.type().dtype;
  }
  Ref written_out(const Node& node) {
    const Node& rows = graph_->node(node.args[0].as<Ref>().node);
    const ir::DType dtype = node.type().dtype;
    const bool narrow = dtype == ir::DType::f16 || dtype == ir::DType::bf16;
    const int64_t places = rows.type().sizes[1].hint();
    std::vector<Arg> args;
    for (const Arg& arg : rows.args) args.push_back(out_.mapped(arg));
    const Arg indices = args[1];
    Ref sum;
    for (int64_t i = 0; i < places; ++i) {
      args[1] = Arg(out_.emit(rows, "aten.select.int", {indices, Arg(int64_t{1}), Arg(i)}));
      Ref row = out_.emit(rows, "aten.embedding.default", args);
      if (narrow)
        row = out_.emit(rows, "aten._to_copy.default", {Arg(row)}, {{"dtype", Arg(ir::DType::f32)}});
      sum = i ? out_.emit(node, "aten.add.Tensor", {Arg(sum), Arg(row)}) : row;
    }
    if (is_mean(node)) sum = out_.emit(node, "aten.div.Tensor", {Arg(sum), Arg(static_cast<double>(places))});
    return narrow ? out_.emit(node, "aten._to_copy.default", {Arg(sum)}, {{"dtype", Arg(dtype)}}) : sum;
  }

  const GraphPtr& graph_;
  Rewriter out_;
  const std::vector<std::vector<NodeId>> users_;
};

}  // namespace

GraphPtr short_bags(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return std::ranges::any_of(graph->nodes(), is_lookup) ? ShortBags(graph, ids).run() : graph;
}

}  // namespace vitrine::passes
