#include "core/passes/library_calls/split_addmm_bias.h"

#include "core/passes/rewrite/loop_readers.h"
#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

const ops::OpRow* row_of(const Node& node) {
  return node.kind == ir::NodeKind::op ? ops::find(node.op) : nullptr;
}

}  // namespace

// addmm(bias, a, b) = mm(a, b) + bias. In f16 and bf16 the product would be rounded once more: they stay.
GraphPtr split_addmm_bias(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  auto users = graph->users();
  Rewriter out(graph, ids, "split_addmm_bias");
  for (const Node& node : graph->nodes()) {
    const ops::OpRow* row = row_of(node);
    auto args = row && node.op == "aten.addmm.default" ? ops::bind(*row, node) : Error{};
    ir::DType dtype = node.outputs.empty() ? ir::DType::other : node.type().dtype;
    bool splits = args.ok() && ops::is_one(args.value()[3]) && ops::is_one(args.value()[4]) &&
                  (dtype == ir::DType::f32 || dtype == ir::DType::f64) && feeds_a_loop(*graph, users, node);
    if (!splits) {
      out.keep(node);
      continue;
    }
    Ref product = out.emit(node, "aten.mm.default", {out.mapped(node.args[1]), out.mapped(node.args[2])});
    out.change(node, "aten.add.Tensor", {Arg(product), out.mapped(node.args[0])}, {});
  }
  return out.finish();
}

}  // namespace vitrine::passes
