#include "core/ops/check.h"

#include "core/ir/print.h"
#include "core/ops/node.h"

namespace vitrine::ops {

namespace {

std::string types_text(const std::vector<ir::TensorType>& types) {
  std::string out;
  for (const ir::TensorType& t : types) out += (out.empty() ? "" : ", ") + ir::print_type(t);
  return out;
}

}  // namespace

#define LAW(cond, text, node) \
  if (!(cond)) broken.push_back({node, text})

std::vector<ir::BrokenLaw> verify(const ir::Graph& graph) {
  std::vector<ir::BrokenLaw> broken = ir::verify(graph);
  if (!broken.empty() || graph.stage == "captured") return broken;
  auto type_of = [&](ir::Ref r) -> const ir::TensorType& {
    return graph.node(r.node).outputs.at(static_cast<size_t>(r.output));
  };
  for (const ir::Node& n : graph.nodes()) {
    const OpRow* row = n.kind == ir::NodeKind::op ? find(n.op) : nullptr;
    if (!row) continue;
    auto args = bind(*row, n);
    LAW(args.ok(), args.ok() ? "" : args.error().what, n.id);
    if (!args.ok()) continue;
    auto types = infer(*row, args.value(), type_of);
    if (!types.ok()) continue;
    LAW(types.value() == n.outputs, "the operator gives " + types_text(types.value()), n.id);
  }
  return broken;
}

}  // namespace vitrine::ops
