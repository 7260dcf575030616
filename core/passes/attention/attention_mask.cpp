#include "core/passes/attention/attention_mask.h"

#include <limits>

#include "core/ops/attention/one_query.h"
#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

constexpr size_t kQuery = 0, kMask = 3;

const TensorType& type_of(const ir::Graph& graph, const Arg& value) {
  const Ref ref = value.as<Ref>();
  return graph.node(ref.node).outputs.at(static_cast<size_t>(ref.output));
}

bool converts(const ir::Graph& graph, const Node& node) {
  if (node.op != "aten.scaled_dot_product_attention.default" || node.args.size() <= kMask) return false;
  if (!node.args[kMask].is<Ref>() || !node.args[kQuery].is<Ref>()) return false;
  const ir::DType dtype = type_of(graph, node.args[kQuery]).dtype;
  if (dtype != ir::DType::f32 && dtype != ir::DType::f64) return false;
  const ops::TypeOf of = [&](Ref r) -> const TensorType& { return type_of(graph, Arg(r)); };
  if (const auto one = ops::one_query(node, of); one && ops::has_kernel(*one, of)) return false;
  const TensorType& mask = type_of(graph, node.args[kMask]);
  return mask.dtype == ir::DType::b1 && mask.device.is_cuda() && !mask.sizes.empty() &&
         (mask.sizes.back() == 1 || mask.strides.back() == 1);
}

}  // namespace

// attention(q, k, v, mask) = attention(q, k, v, where(mask, 0, -inf)), in the dtype of q.
GraphPtr attention_mask(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "attention_mask");
  for (const Node& node : graph->nodes()) {
    if (!converts(*graph, node)) {
      out.keep(node);
      continue;
    }
    const TensorType& query = type_of(*graph, node.args[kQuery]);
    auto number = [&](double value) {
      const ir::Word device{query.device.text()};
      return Arg(out.emit(node, "aten.full.default", {Arg(std::vector<Arg>{}), Arg(value)},
                          {{"dtype", Arg(query.dtype)}, {"device", Arg(device)}}));
    };
    const Arg added = number(0), left_out = number(-std::numeric_limits<double>::infinity());
    std::vector<Arg> args;
    for (const Arg& a : node.args) args.push_back(out.mapped(a));
    args[kMask] = Arg(out.emit(node, "aten.where.self", {args[kMask], added, left_out}));
    Kwargs kwargs;
    for (const auto& [name, arg] : node.kwargs) kwargs.emplace_back(name, out.mapped(arg));
    out.change(node, node.op, std::move(args), std::move(kwargs), node.outputs);
  }
  return out.finish();
}

}  // namespace vitrine::passes
