#include "core/passes/library_gelu.h"

#include "core/passes/writer.h"

namespace vitrine::passes {

namespace {

bool is_of_library(const Node& node) {
  if (node.op != "aten.gelu.default" || !node.kwargs.empty() || node.args.size() != 1) return false;
  const TensorType& y = node.type();  // laid out as its operand
  return y.device.is_cpu() && (y.dtype == DType::f32 || y.dtype == DType::bf16) && y.numel() > 1;
}

// (x (1 + erf(x / sqrt 2)) + 0 x) / 2
Values written(Writer& w) {
  const Ref x = w.wide(0);
  const Ref twice = w.add(w.unary("aten.erf.default", w.mul(x, 0.7071067811865476)), 1);
  const Ref product = w.mul(x, twice);
  return w.one(w.mul(w.add(product, w.mul(x, 0)), 0.5));
}

}  // namespace

GraphPtr library_gelu(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "library_gelu", true);
  for (const Node& node : graph->nodes()) {
    if (!is_of_library(node) || !out.type(out.mapped(node.args[0]).as<Ref>()).is_contiguous()) {
      out.keep(node);
      continue;
    }
    Writer writer(out, node, node.args, {{node.id, 0}});
    out.replace(node, *written(writer));
  }
  return out.finish();
}

}  // namespace vitrine::passes
