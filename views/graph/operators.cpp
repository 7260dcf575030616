#include "views/graph/operators.h"

#include <set>
#include <unordered_set>

#include "views/kit/session/labels.h"

namespace vitrine::views {

using namespace session;

namespace {

constexpr int kSeveral = 4;        // nodes that are worth a name of their own
constexpr size_t kManyLoose = 48;  // nodes without a module that no picture holds

// The only captured node that `id` came from, 0 when there are several or none.
const NodeRow* captured_origin(const kit::SessionData& data, Id id) {
  const NodeRow* found = nullptr;
  std::set<Id> seen{id};
  std::vector<Id> open{id};
  while (!open.empty()) {
    const Id at = open.back();
    open.pop_back();
    for (Id origin : data.links.origins(at)) {
      const NodeRow* node = data.nodes.find(origin);
      if (!node || !seen.insert(origin).second) continue;
      const GraphRow* graph = data.graphs.find(node->graph);
      if (!graph || graph->stage != "captured") {
        open.push_back(origin);
      } else if (found && found != node) {
        return nullptr;
      } else {
        found = node;
      }
    }
  }
  return found;
}

// Whether one card can stand for the nodes: no path leaves them and comes back, as between the additions of a
// line that is run once a layer. `nodes` are in an order in which what is read comes first.
bool stands_together(const kit::SessionData& data, std::span<const NodeRow> nodes,
                     const std::vector<std::pair<Id, Id>>& held) {
  std::unordered_set<Id> group, behind;  // behind: outside, and reached from the group
  for (const auto& [node, span] : held) group.insert(node);
  std::unordered_map<Id, std::vector<Id>> reads;
  for (const EdgeRow& edge : data.edges.of(nodes.front().graph)) reads[edge.dst].push_back(edge.src);
  for (const NodeRow& node : nodes) {
    const bool own = group.contains(node.id);
    for (Id src : reads[node.id]) {
      if (own && behind.contains(src)) return false;
      if (!own && (group.contains(src) || behind.contains(src))) behind.insert(node.id);
    }
  }
  return true;
}

}  // namespace

LooseLines lines_of_loose(const kit::SessionData& data, std::span<const NodeRow> nodes) {
  std::map<std::string, std::vector<std::pair<Id, Id>>> by_line;  // path -> node, span
  size_t loose = 0;
  for (const NodeRow& node : nodes) {
    if (node.kind != "op" || !node.module.empty()) continue;
    ++loose;
    const NodeRow* origin = node.span ? &node : captured_origin(data, node.id);
    const SpanRow* span = origin ? data.spans.find(origin->span) : nullptr;
    if (span) by_line["line " + std::to_string(span->line)].emplace_back(node.id, span->id);
  }
  LooseLines out;
  if (loose < kManyLoose) return out;
  for (const auto& [path, held] : by_line) {
    if (held.size() < kSeveral || !stands_together(data, nodes, held)) continue;
    for (const auto& [node, span] : held) out.path[node] = path;
    out.names[path] = kit::spanText(data, held.front().second);
  }
  return out;
}

OperatorParts parts_of_operators(const kit::SessionData& data, std::span<const NodeRow> nodes) {
  std::map<std::pair<std::string, Id>, std::vector<const NodeRow*>> by_operator;
  std::map<std::string, size_t> in_module;
  for (const NodeRow& node : nodes) {
    if (node.kind != "op") continue;
    ++in_module[node.module];
    if (const NodeRow* origin = captured_origin(data, node.id))
      by_operator[{node.module, origin->id}].push_back(&node);
  }
  OperatorParts out;
  for (const auto& [key, parts] : by_operator) {
    const auto& [module, origin] = key;
    if (parts.size() < 2) continue;
    if (!module.empty() && parts.size() == in_module[module]) {
      out.whole.insert(module);
      continue;
    }
    if (parts.size() < kSeveral) continue;
    const std::string path = (module.empty() ? "" : module + ".") + data.nodes.find(origin)->name;
    for (const NodeRow* part : parts) out.path[part->id] = path;
    out.whole.insert(path);
  }
  return out;
}

}  // namespace vitrine::views
