#include "core/passes/rewrite/storage.h"

#include <algorithm>

#include "core/ops/node.h"

namespace vitrine::passes {

Storages::Storages(const ir::Graph& graph) {
  for (const ir::Node& n : graph.nodes()) {
    int mine = static_cast<int>(parent_.size());
    parent_.push_back(mine);
    group_[n.id] = mine;
    for (ir::Ref r : ops::aliased(n)) {
      int a = find(group_.at(r.node)), b = find(mine);
      parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
    }
  }
  flags_.resize(parent_.size());
  for (const ir::Node& n : graph.nodes()) {
    Flags& flags = flags_[at(n.id)];
    flags.members.push_back(n.id);
    flags.input |= n.kind != ir::NodeKind::op;
    for (ir::Ref r : ops::written(n)) flags_[at(r.node)].written = true;
  }
  for (const ir::Arg& result : graph.results())
    ir::each_ref(result, [&](ir::Ref r) { flags_[at(r.node)].escapes = true; });
}

}  // namespace vitrine::passes
