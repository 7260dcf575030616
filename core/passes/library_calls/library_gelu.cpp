#include "core/passes/library_calls/library_gelu.h"

#include <algorithm>

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

namespace {

bool is_of_library(const Node& node, DType dtype) {
  if (node.op != "aten.gelu.default" || node.args.size() != 1) return false;
  // Canonicalised or not.
  for (const auto& [name, value] : node.kwargs)
    if (name != "approximate" || value != Arg(std::string("none"))) return false;
  const TensorType& y = node.type();  // laid out as its operand
  return y.device.is_cpu() && y.dtype == dtype && !y.numel().same(1);
}

// (x (1 + erf(x / sqrt 2)) + 0 x) / 2
OutputValues written(NodeWriter& w) {
  const Ref x = w.wide(0);
  const Ref twice = w.add(w.unary("aten.erf.default", w.mul(x, 0.7071067811865476)), 1);
  const Ref product = w.mul(x, twice);
  return w.one(w.mul(w.add(product, w.mul(x, 0)), 0.5));
}

GraphPtr library_gelu(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids,
                      const LibraryGelu& which) {
  Rewriter out(graph, ids, std::string(which.pass), true);
  for (const Node& node : graph->nodes()) {
    if (!is_of_library(node, which.dtype) || !out.type(out.mapped(node.args[0]).as<Ref>()).is_contiguous()) {
      out.keep(node);
      continue;
    }
    NodeWriter writer(out, node, node.args, {{node.id, 0}});
    out.replace(node, *written(writer));
  }
  return out.finish();
}

}  // namespace

bool asks_library_gelu(const ir::Graph& graph, DType dtype) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) { return is_of_library(node, dtype); });
}

GraphPtr library_gelu_f32(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return library_gelu(graph, ids, kLibraryGelus[0]);
}
GraphPtr library_gelu_bf16(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return library_gelu(graph, ids, kLibraryGelus[1]);
}
GraphPtr library_gelu_f16(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return library_gelu(graph, ids, kLibraryGelus[2]);
}

}  // namespace vitrine::passes
