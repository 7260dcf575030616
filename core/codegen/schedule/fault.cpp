#include "core/codegen/schedule/fault.h"

#include <algorithm>
#include <sstream>

namespace vitrine::codegen {

namespace {

bool computes(const Kernel& kernel, const ir::Graph& graph, const std::string& operators) {
  std::istringstream words(operators);
  for (std::string word; words >> word;) {
    const auto is = [&](ir::NodeId id) {
      const ir::Node* node = graph.find(id);
      return node && ir::short_op(node->op) == word;
    };
    if (std::none_of(kernel.nodes.begin(), kernel.nodes.end(), is)) return false;
  }
  return true;
}

}  // namespace

void make_wrong(Kernel& kernel, const ir::Graph& graph, const Faults& faults) {
  for (const Fault& fault : faults) {
    if (fault.where.starts_with("pass ") || !computes(kernel, graph, fault.where)) continue;
    const size_t body = kernel.text.find("vitrine_kernel");  // the functions above it are every kernel's
    for (size_t at = kernel.text.find(fault.find, body == std::string::npos ? 0 : body);
         at != std::string::npos; at = kernel.text.find(fault.find, at + fault.put.size())) {
      kernel.text.replace(at, fault.find.size(), fault.put);
      kernel.scalar = nullptr;
    }
  }
}

ir::GraphPtr made_wrong(const std::string& pass, const ir::Graph& before, const ir::GraphPtr& after,
                        const Faults& faults, const std::shared_ptr<ir::NodeIds>& ids) {
  ir::GraphPtr out = after;
  for (const Fault& fault : faults) {
    if (fault.where != "pass " + pass) continue;
    ir::Builder builder(out->stage, ids);
    for (const ir::Node& node : out->nodes()) {
      ir::Node copy = node;
      if (!before.find(node.id) && node.op == fault.find) copy.op = fault.put;
      builder.add(std::move(copy));
    }
    out = builder.finish(out->results());
  }
  return out;
}

}  // namespace vitrine::codegen
