#include "core/passes/layout/rows_in_place.h"

#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

class Rows {
 public:
  Rows(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids)
      : graph_(graph), users_(graph->users()), out_(graph, ids, "rows_in_place") {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      if (!adds_rows(node, 0) && !adds_rows(node, 1)) out_.keep(node);
    }
    return out_.finish();
  }

 private:
  // sum = other + rows of a gradient at indices = index_put(other, [indices], gradient, accumulate=True)
  bool adds_rows(const Node& sum, size_t which) {
    if (sum.op != "aten.add.Tensor" || sum.args.size() != 2 || !sum.kwargs.empty()) return false;
    const Arg &rows = sum.args[which], &other = sum.args[1 - which];
    if (!rows.is<Ref>() || !other.is<Ref>() || rows == other) return false;
    const Node& embedding = graph_->node(rows.as<Ref>().node);
    if (!is_embedding(embedding) || !is_alone(embedding) || type_of(other) != sum.type() ||
        embedding.type() != sum.type())
      return false;
    Arg gradient = out_.mapped(embedding.args[0]);
    const Arg indices = out_.mapped(embedding.args[1]);
    if (const int64_t none = embedding.args[3].as<int64_t>(); none >= 0)
      gradient = without(embedding, gradient, indices, none);
    out_.change(sum, "aten.index_put.default",
                {out_.mapped(other), Arg(std::vector<Arg>{indices}), gradient, Arg(true)}, {});
    return true;
  }

  // Of floats of whole precision: their sums are not rounded in between.
  static bool is_embedding(const Node& node) {
    if (node.op != "aten.embedding_dense_backward.default" || node.args.size() != 5) return false;
    const ir::DType dtype = node.type().dtype;
    return node.type().device.is_cpu() && (dtype == ir::DType::f32 || dtype == ir::DType::f64) &&
           node.args[4] == Arg(false) && node.args[3].is<int64_t>();
  }
  bool is_alone(const Node& node) const {
    return users_[graph_->position(node.id)].size() == 1 && !out_.is_result(node.id);
  }
  TensorType type_of(const Arg& value) const {
    const Ref r = value.as<Ref>();
    return graph_->node(r.node).outputs.at(static_cast<size_t>(r.output));
  }

  // 0 where the index is that of no word.
  Arg without(const Node& from, const Arg& gradient, const Arg& indices, int64_t none) {
    const Ref is_none = out_.emit(from, "aten.eq.Scalar", {indices, Arg(none)});
    const Ref rows = out_.emit(from, "aten.unsqueeze.default", {Arg(is_none), Arg(int64_t{-1})});
    return Arg(out_.emit(from, "aten.masked_fill.Scalar", {gradient, Arg(rows), Arg(int64_t{0})}));
  }

  const GraphPtr& graph_;
  const std::vector<std::vector<NodeId>> users_;
  Rewriter out_;
};

}  // namespace

GraphPtr rows_in_place(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return Rows(graph, ids).run();
}

}  // namespace vitrine::passes
