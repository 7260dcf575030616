#include "core/passes/library_calls/linear_activation.h"

#include <optional>

#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::passes {

namespace {

using ir::DType;

class ActivationJoiner {
 public:
  ActivationJoiner(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids)
      : graph_(graph), users_(graph->users()), storages_(*graph), out_(graph, ids, "linear_activation") {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      const Node* linear = is_activation(node) ? read_alone(node.args[0]) : nullptr;
      if (linear && joins(*linear, node))
        join(*linear, node);
      else
        out_.keep(node);
    }
    return out_.finish();
  }

 private:
  // gelu by tanh, of half precision: the library's form, whose error is below that of the type.
  static bool is_activation(const Node& node) {
    if (node.op != "aten.gelu.default" || node.args.size() != 1 || !node.args[0].is<Ref>()) return false;
    const DType dtype = node.type().dtype;
    return node.type().device.is_cuda() && (dtype == DType::f16 || dtype == DType::bf16) &&
           node.kwargs.size() == 1 && node.kwargs[0].second == Arg("tanh");
  }

  // The linear layer behind the value, through views, where nobody else sees any of them.
  const Node* read_alone(const Arg& value) const {
    const Node* node = &graph_->node(value.as<Ref>().node);
    while (true) {
      if (users_[graph_->position(node->id)].size() != 1 || out_.is_result(node->id)) return nullptr;
      if (node->op != "aten.view.default") return node;
      node = &graph_->node(node->args[0].as<Ref>().node);
    }
  }

  // The new node reads the factors later than the old one did.
  bool joins(const Node& linear, const Node& activation) const {
    const ops::OpRow* row = linear.op == "aten.addmm.default" ? ops::find(linear.op) : nullptr;
    auto args = row ? ops::bind(*row, linear) : Error{};
    if (!args.ok() || !ops::is_one(args.value()[3]) || !ops::is_one(args.value()[4])) return false;
    for (const Arg& a : linear.args)
      if (!a.is<Ref>() || storages_.written(a.as<Ref>().node)) return false;
    const TensorType& bias = graph_->node(linear.args[0].as<Ref>().node).outputs.at(0);
    const TensorType& type = linear.type();
    return ir::same(bias.sizes, ir::Dims{type.sizes[1]}) && bias.is_contiguous() && type.numel() > 0 &&
           type.dtype == activation.type().dtype && activation.type().is_contiguous();
  }

  void join(const Node& linear, const Node& activation) {
    std::vector<Arg> args;
    for (const Arg& a : linear.args) args.push_back(out_.mapped(a));
    const Kwargs how = {{"use_gelu", Arg(true)}};
    if (linear.type() == activation.type()) {
      out_.absorb(out_.change(activation, "aten._addmm_activation.default", std::move(args), how), linear);
      return;
    }
    Ref joined = out_.emit(activation, "aten._addmm_activation.default", std::move(args), how);
    out_.absorb(joined, linear);
    out_.change(activation, "aten.view.default", {Arg(joined), Arg::ints(activation.type().sizes)}, {});
  }

  const GraphPtr& graph_;
  const std::vector<std::vector<NodeId>> users_;
  const Storages storages_;
  Rewriter out_;
};

}  // namespace

GraphPtr linear_activation(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return ActivationJoiner(graph, ids).run();
}

}  // namespace vitrine::passes
