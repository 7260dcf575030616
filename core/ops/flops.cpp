#include "core/ops/flops.h"

#include <algorithm>
#include <string>
#include <string_view>

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

// Attention: where its query is, and where it says that it is causal.
struct AttentionWork {
  std::string_view op;
  size_t query, causal;
};
constexpr AttentionWork kAttention[] = {
    {"aten.scaled_dot_product_attention.default", 0, 5},
    {"aten._scaled_dot_product_flash_attention.default", 0, 4},
    {"aten._scaled_dot_product_efficient_attention.default", 0, 6},
    {"aten._scaled_dot_product_cudnn_attention.default", 0, 6},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", 0, 4},
    {"aten._scaled_dot_product_flash_attention_backward.default", 1, 11},
    {"aten._scaled_dot_product_efficient_attention_backward.default", 1, 11},
    {"aten._scaled_dot_product_cudnn_attention_backward.default", 1, 14},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", 1, 7},
};

// q k' and the product with v; backward the first again, and four with gradients. A causal one skips half.
int64_t attention_flops(const Graph& graph, const Node& node, const AttentionWork& row) {
  const TensorType* query = tensor_arg(graph, node, row.query);
  const TensorType* key = tensor_arg(graph, node, row.query + 1);
  if (!query || !key || query->sizes.size() < 3 || key->sizes.size() != query->sizes.size()) return 0;
  const int64_t keys = key->sizes[key->sizes.size() - 2].hint(), products = row.query ? 5 : 2;
  bool causal = row.causal < node.args.size() && node.args[row.causal] == Arg(true);
  for (const auto& [name, value] : node.kwargs) causal |= name == "is_causal" && value == Arg(true);
  return 2 * products * query->numel().hint() * keys / (causal ? 2 : 1);
}

}  // namespace

int64_t flops(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::op || node.outputs.empty()) return 0;
  if (const auto* of = std::ranges::find(kAttention, node.op, &AttentionWork::op); of != std::end(kAttention))
    return attention_flops(graph, node, *of);
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
  return 0;
}

}  // namespace vitrine::ops
