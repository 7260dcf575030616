#include "core/ops/flops.h"

#include <algorithm>
#include <string>

#include "core/ops/node.h"
#include "core/ops/table.h"

namespace vitrine::ops {

using namespace ir;

namespace {

const TensorType* tensor_arg(const Graph& graph, const Node& node, size_t i) {
  if (i >= node.args.size() || !node.args[i].is<Ref>()) return nullptr;
  Ref r = node.args[i].as<Ref>();
  return &graph.node(r.node).outputs.at(static_cast<size_t>(r.output));
}

}  // namespace

int64_t flops(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::op || node.outputs.empty()) return 0;
  const OpRow* row = find(node.op);
  if (!row) return 0;
  const int64_t elements = node.type().numel().hint();
  if (row->lower == Lower::pointwise) return row->family == Family::pointwise ? elements : 0;
  const TensorType* first = tensor_arg(graph, node, 0);
  const TensorType* second = tensor_arg(graph, node, 1);
  if (row->family == Family::reduction) return first ? first->numel().hint() : 0;
  if (row->family != Family::matmul || !first || !second) return 0;
  std::string name = short_op(node.op);
  if (name == "addmm" || name == "baddbmm" || node.op == "aten._addmm_activation.default")
    return 2 * elements * second->sizes.back().hint();
  if (name == "mm" || name == "bmm" || name == "mv" || name == "dot")
    return 2 * elements * first->sizes.back().hint();
  // A weight meets each output position once a channel: weight elements / output channels.
  if (name == "convolution" && !node.args[6].as<bool>())
    return 2 * elements * second->numel().hint() / std::max<int64_t>(second->sizes[0].hint(), 1);
  // q k' and the product with v.
  if (first->sizes.size() == 4 && second->sizes.size() == 4) return 4 * elements * second->sizes[2].hint();
  return 0;
}

}  // namespace vitrine::ops
