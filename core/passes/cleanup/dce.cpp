#include "core/passes/cleanup/dce.h"

#include <algorithm>

#include "core/ops/call.h"
#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

// Operators that look at indices may raise, as may one that the table does not know.
bool may_raise(const Node& node) {
  const ops::OpRow* row = ops::find(node.op);
  if (!row) return true;
  for (const ops::OpRow& index : ops::kEmbeddingIndex) {
    if (&index == row) return true;
  }
  return false;
}

bool has_effect(const Node& node) {
  return node.kind != ir::NodeKind::op || node.outputs.empty() || ops::writes(node) || ops::is_random(node) ||
         may_raise(node);
}

}  // namespace

std::vector<bool> live_nodes(const ir::Graph& graph) {
  std::vector<bool> live(graph.nodes().size());
  auto use = [&](Ref r) { live[graph.position(r.node)] = true; };
  for (const Arg& r : graph.results()) ir::each_ref(r, use);
  for (size_t i = live.size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (has_effect(node)) live[i] = true;
    if (live[i]) ir::each_ref(node, use);
  }
  return live;
}

GraphPtr dce(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  const std::vector<bool> live = live_nodes(*graph);
  Rewriter out(graph, ids, "dce");
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i])
      out.keep(graph->nodes()[i]);
    else
      out.drop(graph->nodes()[i]);
  }
  return out.finish();
}

}  // namespace vitrine::passes
