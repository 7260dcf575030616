#include "core/passes/layout/fold_views.h"

#include <optional>

#include "core/ops/layout.h"
#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

bool is_view(const Node& node) {
  const ops::OpRow* row = node.kind == ir::NodeKind::op ? ops::find(node.op) : nullptr;
  return row && row->lower == ops::Lower::view && node.outputs.size() == 1 && !node.args.empty() &&
         node.args[0].is<Ref>();
}

}  // namespace

GraphPtr fold_views(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "fold_views");
  for (const Node& node : graph->nodes()) {
    if (!is_view(node) || out.is_result(node.id)) {
      out.keep(node);
      continue;
    }
    // v(w(x)) = x, where v(w(x)) has the sizes, strides and offset of x: the same memory, read alike.
    Ref source = out.mapped(node.args[0]).as<Ref>();
    std::optional<Ref> same;
    for (Ref r = source;; r = out.fresh(r).args[0].as<Ref>()) {
      if (out.type(r).same(node.type())) same = r;
      if (!is_view(out.fresh(r))) break;
    }
    if (same) {
      out.replace(node, {Arg(*same)});
      continue;
    }
    // view(view(x, a), b) = view(x, b), where x can be read so without a copy.
    const Node& before = out.fresh(source);
    if (node.op == "aten.view.default" && before.op == "aten.view.default") {
      Ref base = before.args[0].as<Ref>();
      auto strides = ops::view_strides(out.type(base), node.type().sizes);
      if (strides && ir::same(*strides, node.type().strides)) {
        out.change(node, node.op, {Arg(base), Arg::ints(node.type().sizes)}, {});
        continue;
      }
    }
    out.keep(node);
  }
  return out.finish();
}

}  // namespace vitrine::passes
