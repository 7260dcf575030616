#include "core/passes/rewrite/loop_readers.h"

#include <algorithm>

#include "core/ops/node.h"

namespace vitrine::passes {

bool feeds_a_loop(const ir::Graph& graph, const std::vector<std::vector<ir::NodeId>>& users,
                  const ir::Node& node) {
  return std::ranges::any_of(users[graph.position(node.id)], [&](ir::NodeId id) {
    const ir::Node& user = graph.node(id);
    const ops::OpRow* row = user.kind == ir::NodeKind::op ? ops::find(user.op) : nullptr;
    if (!row) return false;
    if (row->lower == ops::Lower::pointwise || row->lower == ops::Lower::reduction) return true;
    return row->lower == ops::Lower::view && feeds_a_loop(graph, users, user);
  });
}

}  // namespace vitrine::passes
