// Which nodes of the captured graph are still to come where the film stands.
#include <set>

#include "views/graph/graph_painter.h"

namespace vitrine::views {

using namespace session;

std::set<Id> pending_rewrites(const kit::SessionData& data, const kit::Film& film, const GraphRow& graph) {
  std::set<Id> out;
  if (!film.rewrite || film.graph != graph.id) return out;
  bool later = false;
  for (const RewriteRow& row : data.rewrites.of(graph.id)) {
    if (later) out.insert(row.node);
    later = later || row.node == film.rewrite;
  }
  return later ? out : std::set<Id>();
}

namespace {

// Nodes of the graph that only rewrites make which come later.
Ghosts ghosts_of_rewrites(const kit::SessionData& data, const kit::Film& film, const GraphRow& graph) {
  Ghosts out;
  const std::set<Id> pending = pending_rewrites(data, film, graph);
  std::set<int64_t> before;
  for (const Id id : pending)
    if (const NodeRow* node = data.nodes.find(id))
      for (const NodeRow& other : data.nodes.of(node->graph)) before.insert(other.stable);
  int step = 0;
  for (const RewriteRow& row : data.rewrites.of(graph.id)) {
    ++step;
    for (const Id id : data.links.derived(row.node)) {
      const NodeRow* made = data.nodes.find(id);
      if (!made || made->graph != graph.id) continue;
      if (row.node == film.rewrite && !out.newest) out.newest = id;
      if (pending.contains(row.node) && !before.contains(made->stable)) out.step_of.emplace(id, step);
    }
  }
  return out;
}

}  // namespace

Ghosts ghosts_of(const kit::SessionData& data, const kit::Film& film, const GraphRow& graph) {
  Ghosts out;
  if (film.rewrite && film.graph == graph.id) return ghosts_of_rewrites(data, film, graph);
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
