#include "core/runtime/write_counts.h"

#include <unordered_map>

#include "core/ops/node.h"

namespace vitrine::runtime {

codegen::WriteCounts count_writes(const ir::Graph& aten) {
  std::unordered_map<ir::NodeId, ir::NodeId> root;  // the node that made the memory
  std::unordered_map<ir::NodeId, int32_t> counts;   // by root
  const auto root_of = [&](ir::Ref r) {
    const auto found = root.find(r.node);
    return found == root.end() ? r.node : found->second;
  };
  for (const ir::Node& node : aten.nodes()) {
    for (ir::Ref r : ops::counted(node)) ++counts[root_of(r)];
    const std::vector<ir::Ref> aliased = ops::aliased(node);
    if (!aliased.empty()) root[node.id] = root_of(aliased[0]);
  }
  codegen::WriteCounts out;
  for (const ir::Node* input : aten.inputs()) out.inputs.push_back(counts[input->id]);
  for (const ir::Arg& result : aten.results())
    out.results.push_back(result.is<ir::Ref>() ? counts[root_of(result.as<ir::Ref>())] : 0);
  return out;
}

}  // namespace vitrine::runtime
