#include "core/codegen/products.h"

#include <algorithm>

#include "core/codegen/cpp/product_text.h"

namespace vitrine::codegen {

namespace {

struct Operands {
  ir::Ref a, b;
  std::optional<ir::Ref> bias;
};

bool is_one(const ir::Arg& arg) {
  return (arg.is<int64_t>() && arg.as<int64_t>() == 1) || (arg.is<double>() && arg.as<double>() == 1);
}

std::optional<Operands> operands(const ir::Node& node) {
  const bool plain = node.op == "aten.mm.default", added = node.op == "aten.addmm.default";
  const size_t count = added ? 3 : 2;
  if ((!plain && !added) || node.args.size() != count) return {};
  for (const ir::Arg& arg : node.args)
    if (!arg.is<ir::Ref>()) return {};
  for (const auto& [name, arg] : node.kwargs)
    if (!added || !is_one(arg)) return {};
  Operands out{node.args[count - 2].as<ir::Ref>(), node.args[count - 1].as<ir::Ref>(), {}};
  if (added) out.bias = node.args[0].as<ir::Ref>();
  return out;
}

const ir::TensorType& type_of(const ir::Graph& graph, ir::Ref r) {
  return graph.node(r.node).outputs.at(static_cast<size_t>(r.output));
}

bool is_matrix(const ir::TensorType& type) {
  return type.dtype == ir::DType::f32 && type.sizes.size() == 2 && type.sizes[0] > 0 && type.sizes[1] > 0;
}

// Elements from one row of the bias to the next; nothing: its columns are not side by side.
std::optional<int64_t> bias_row(const ir::TensorType& bias, int64_t n) {
  const size_t rank = bias.sizes.size();
  if (bias.dtype != ir::DType::f32 || rank < 1 || rank > 2) return {};
  if (bias.sizes[rank - 1] != n || (n > 1 && bias.strides[rank - 1] != 1)) return {};
  return rank == 2 && bias.sizes[0] > 1 ? bias.strides[0] : int64_t{0};
}

int64_t up(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

}  // namespace

std::optional<ProductCall> product_call(const ir::Graph& graph, const ir::Node& node, int lanes,
                                        const ProductOptions& options) {
  auto of = operands(node);
  if (!of || node.outputs.size() != 1) return {};
  const ir::TensorType &a = type_of(graph, of->a), &b = type_of(graph, of->b), &c = node.type();
  if (!is_matrix(a) || !is_matrix(b) || !is_matrix(c)) return {};
  const int64_t m = a.sizes[0], k = a.sizes[1], n = b.sizes[1];
  if (n > 1 && c.strides[1] != 1) return {};
  if (2 * m * n * k < options.least_flops) return {};
  std::optional<int64_t> plus = of->bias ? bias_row(type_of(graph, *of->bias), n) : int64_t{0};
  if (!plus) return {};

  const cpp::ProductTile tile = cpp::product_tile(lanes);
  const int64_t panels = up(n, tile.columns());
  // Two items a thread, as far as there are rows: a panel is packed anew for each chunk.
  int64_t chunks = std::clamp<int64_t>(up(int64_t{2} * options.threads, panels), 1, up(m, 8 * tile.rows));
  const int64_t chunk = up(up(m, chunks), tile.rows) * tile.rows;
  chunks = up(m, chunk);

  ProductCall call;
  call.reads = {of->a, of->b};
  if (of->bias) call.reads.push_back(*of->bias);
  call.numbers = {m,     n,     k,     a.strides[0], a.strides[1], b.strides[0], b.strides[1], c.strides[0],
                  *plus, chunk, chunks};
  Kernel& kernel = call.kernel;
  kernel.name = of->bias ? "product_bias" : "product";
  kernel.text = cpp::product_text(tile, of->bias.has_value());
  kernel.space = std::to_string(m) + " × " + std::to_string(n) + " × " + std::to_string(k);
  kernel.family = "matmul";
  kernel.nodes = {node.id};
  auto lines = static_cast<int32_t>(std::count(kernel.text.begin(), kernel.text.end(), '\n'));
  kernel.lines = {{1, lines, 0, 0, node.id}};
  kernel.work = panels * chunks;
  kernel.bytes = a.bytes() + b.bytes() + c.bytes() + (of->bias ? type_of(graph, *of->bias).bytes() : 0);
  kernel.flops = 2 * m * n * k;
  return call;
}

}  // namespace vitrine::codegen
