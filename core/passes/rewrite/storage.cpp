#include "core/passes/rewrite/storage.h"

#include <algorithm>
#include <utility>

#include "core/ops/node.h"

namespace vitrine::passes {

Storages::Storages(const ir::Graph& graph) {
  ir::NodeId last = -1;
  for (const ir::Node& n : graph.nodes()) last = std::max(last, n.id);
  group_.resize(static_cast<size_t>(last) + 1, -1);
  for (const ir::Node& n : graph.nodes()) {
    int mine = static_cast<int>(parent_.size());
    parent_.push_back(mine);
    group_[static_cast<size_t>(n.id)] = mine;
    for (ir::Ref r : ops::aliased(n)) {
      int a = group(r.node), b = find(mine);
      parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
    }
  }
  flags_.resize(parent_.size());
  for (const ir::Node& n : graph.nodes()) {
    Flags& flags = flags_[at(n.id)];
    ++flags.count;
    flags.input |= n.kind != ir::NodeKind::op;
    for (ir::Ref r : ops::written(n)) flags_[at(r.node)].written = true;
  }
  for (const ir::Arg& result : graph.results())
    ir::each_ref(result, [&](ir::Ref r) { flags_[at(r.node)].escapes = true; });
  list_members(graph);
}

void Storages::list_members(const ir::Graph& graph) {
  size_t end = 0;
  for (Flags& flags : flags_) flags.first = std::exchange(end, end + flags.count);
  members_.resize(end);
  for (Flags& flags : flags_) flags.count = 0;
  for (const ir::Node& n : graph.nodes()) {
    Flags& flags = flags_[at(n.id)];
    members_[flags.first + flags.count++] = n.id;
  }
}

}  // namespace vitrine::passes
