#include "core/ir/restage.h"

namespace vitrine::ir {

GraphPtr restage(const GraphPtr& graph, const std::string& stage) {
  if (graph->stage == stage) return graph;
  auto out = std::make_shared<Graph>(*graph);
  out->stage = stage;
  return out;
}

}  // namespace vitrine::ir
