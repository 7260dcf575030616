#include "views/graph/operators.h"

#include <set>

namespace vitrine::views {

using namespace session;

namespace {

constexpr int kSeveral = 4;  // nodes that are worth a name of their own

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

}  // namespace

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
