#include "core/ir/restage.h"

namespace vitrine::ir {

GraphPtr restage(const GraphPtr& graph, const std::string& stage) {
  if (graph->stage == stage) return graph;
  Builder out(stage, std::make_shared<NodeIds>());  // no id is asked for: every node keeps its own
  for (const Node& node : graph->nodes()) out.keep(node);
  return out.finish(graph->results());
}

}  // namespace vitrine::ir
