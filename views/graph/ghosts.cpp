// Which nodes of the captured graph are still to come where the film stands.
#include "views/graph/graph_painter.h"

namespace vitrine::views {

using namespace session;

Ghosts ghosts_of(const kit::SessionData& data, const kit::Film& film, const GraphRow& graph) {
  Ghosts out;
  const StepRow* now = data.steps.find(film.step);
  if (!now || graph.stage != "captured" || now->compilation != graph.compilation) return out;
  auto steps = data.steps.of(graph.compilation);
  bool later = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    auto made = [&](Id id) {
      const NodeRow* node = data.nodes.find(id);
      if (!node || node->graph != graph.id) return;
      if (later) out.step_of.emplace(id, static_cast<int>(i) + 1);
      if (steps[i].id == film.step) out.newest = id;
    };
    made(steps[i].entity);
    for (Id id : data.links.derived(steps[i].id)) made(id);
    later = later || steps[i].id == film.step;
  }
  if (!out.step_of.empty())
    for (const NodeRow& node : data.nodes.of(graph.id))
      if (node.kind == "output") out.step_of.emplace(node.id, static_cast<int>(steps.size()));
  return out;
}

}  // namespace vitrine::views
