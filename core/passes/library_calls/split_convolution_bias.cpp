#include "core/passes/library_calls/split_convolution_bias.h"

#include "core/passes/rewrite/loop_readers.h"
#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

constexpr size_t kBias = 2, kGroups = 8;

bool has_bias_behind(const Node& node) {
  return node.op == "aten.convolution.default" && node.args.size() == 9 && node.kwargs.empty() &&
         node.type().device.is_cuda() && node.args[kBias].is<Ref>() && node.args[kGroups] == Arg(1);
}

}  // namespace

// convolution(x, w, bias) = convolution(x, w) + bias, one number a channel.
GraphPtr split_convolution_bias(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "split_convolution_bias");
  std::vector<std::vector<NodeId>> users;
  for (const Node& node : graph->nodes()) {
    const bool may = node.kind == ir::NodeKind::op && has_bias_behind(node) && !out.is_result(node.id);
    if (may && users.empty()) users = graph->users();
    if (!may || !feeds_a_loop(*graph, users, node) || !out.may_rewrite(node)) {
      out.keep(node);
      continue;
    }
    std::vector<Arg> args;
    for (const Arg& a : node.args) args.push_back(out.mapped(a));
    ir::Dims by_channel(node.type().sizes.size() - 1, 1);
    by_channel[0] = node.type().sizes[1];
    const Ref bias = out.emit(node, "aten.view.default", {args[kBias], Arg::ints(by_channel)});
    args[kBias] = Arg();
    const Ref image = out.emit(node, node.op, std::move(args), {}, node.outputs);
    out.change(node, "aten.add.Tensor", {Arg(image), Arg(bias)}, {});
  }
  return out.finish();
}

}  // namespace vitrine::passes
