#include "core/passes/cleanup/cse.h"

#include <unordered_map>

#include "core/ir/print.h"
#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::passes {

namespace {

// Same text, same value: operator and arguments, by the old graph's names after merging.
std::string key(const ir::Graph& graph, const Node& node, const std::unordered_map<NodeId, NodeId>& merged) {
  if (merged.empty()) return node.op + "(" + ir::print_args(graph, node) + ")";
  Node renamed;
  renamed.args = node.args, renamed.kwargs = node.kwargs;
  auto rename = [&](Ref r) -> Arg {
    auto it = merged.find(r.node);
    return Arg(it == merged.end() ? r : Ref{it->second, r.output});
  };
  for (Arg& a : renamed.args) a = ir::map_refs(a, rename);
  for (auto& [name, a] : renamed.kwargs) a = ir::map_refs(a, rename);
  return node.op + "(" + ir::print_args(graph, renamed) + ")";
}

}  // namespace

GraphPtr cse(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Storages storages(*graph);
  std::unordered_map<std::string, NodeId> first;
  std::unordered_map<NodeId, NodeId> merged;
  Rewriter out(graph, ids, "cse");
  for (const Node& node : graph->nodes()) {
    // What was computed before a write may have another value after it.
    if (ops::writes(node)) first.clear();
    bool apart = node.kind != ir::NodeKind::op || !ops::find(node.op) || ops::is_random(node) ||
                 storages.escapes(node.id) || storages.written(node.id);
    if (apart) {
      out.keep(node);
      continue;
    }
    auto [found, fresh] = first.emplace(key(*graph, node, merged), node.id);
    if (fresh || !ir::same(graph->node(found->second).outputs, node.outputs)) {
      out.keep(node);
      continue;
    }
    merged[node.id] = found->second;
    std::vector<Arg> values;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      values.push_back(out.mapped(Arg(Ref{found->second, static_cast<int32_t>(i)})));
    out.replace(node, values);
  }
  return out.finish();
}

}  // namespace vitrine::passes
