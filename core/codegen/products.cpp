#include "core/codegen/products.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/codegen/cpp/winograd_text.h"
#include "core/ops/node.h"
#include "core/ops/table.h"

namespace vitrine::codegen {

namespace {

constexpr ProductCandidate kCandidates[] = {
    {"PyTorch", {0, 0, 0}},
    // 32 registers of 16 lanes: 24 sums, the panel's 3 or 4, one of a.
    {"8 x 48", {16, 8, 3}},
    {"6 x 64", {16, 6, 4}},
    // 16 registers of 8 lanes.
    {"4 x 24", {8, 4, 3, true}},
    {"6 x 16", {8, 6, 2, true}},
    {"cuBLASLt's 1st", {0, 0, 0}, 1},
    {"cuBLASLt's 2nd", {0, 0, 0}, 2},
    {"cuBLASLt's 3rd", {0, 0, 0}, 3},
    {"cuBLASLt's 4th", {0, 0, 0}, 4},
    {"cuBLASLt's 5th", {0, 0, 0}, 5},
    {"Winograd's, 8 x 48", {16, 8, 3}, 0, true},
    {"Winograd's, 4 x 24", {8, 4, 3}, 0, true},
    {"tiles of 128 x 256", {0, 0, 0}, 0, false, {256, 4}},
    {"tiles of 128 x 128", {0, 0, 0}, 0, false, {128, 6}},
};

// One product: what it reads and how the kernel finds it.
struct Operands {
  ir::Ref a, b;
  std::optional<ir::Ref> bias;
  bool image = false;
  ir::Sym batch = 1;
  cpp::ProductNumbers at;
};

const ir::TensorType& type_of(const ir::Graph& graph, ir::Ref r) {
  return graph.node(r.node).outputs.at(static_cast<size_t>(r.output));
}

bool is_filled(const ir::TensorType& type, size_t rank) {
  return type.dtype == ir::DType::f32 && type.sizes.size() == rank &&
         std::all_of(type.sizes.begin(), type.sizes.end(), [](const ir::Sym& n) { return n > 0; });
}

// c[.., i, j] = a[.., i, k] b[.., k, j]: the last two dims.
bool take_matrices(const ir::TensorType& a, const ir::TensorType& b, const ir::TensorType& c, size_t rank,
                   cpp::ProductNumbers& at) {
  if (!is_filled(a, rank) || !is_filled(b, rank) || !is_filled(c, rank)) return false;
  const size_t row = rank - 2, column = rank - 1;
  at.m = a.sizes[row], at.k = a.sizes[column], at.n = b.sizes[column];
  at.a_row = a.strides[row], at.a_k = a.strides[column];
  at.b_k = b.strides[row], at.b_column = b.strides[column];
  at.c_row = c.strides[row];
  return at.n.same(1) || c.strides[column].same(1);
}

std::optional<Operands> matrices(const ir::Graph& graph, const ir::Node& node) {
  const bool added = node.op == "aten.addmm.default", batched = node.op == "aten.bmm.default";
  const size_t count = added ? 3 : 2;
  if (node.args.size() != count) return {};
  for (const ir::Arg& arg : node.args)
    if (!arg.is<ir::Ref>()) return {};
  for (const auto& [name, arg] : node.kwargs)
    if (!added || !ops::is_one(arg)) return {};
  Operands out;
  out.a = node.args[count - 2].as<ir::Ref>(), out.b = node.args[count - 1].as<ir::Ref>();
  const ir::TensorType &a = type_of(graph, out.a), &b = type_of(graph, out.b), &c = node.type();
  if (!take_matrices(a, b, c, batched ? 3 : 2, out.at)) return {};
  if (batched) {
    out.batch = out.at.inner = a.sizes[0];
    out.at.a_inner = a.strides[0], out.at.b_inner = b.strides[0], out.at.c_inner = c.strides[0];
  }
  if (!added) return out;
  out.bias = node.args[0].as<ir::Ref>();
  const ir::TensorType& bias = type_of(graph, *out.bias);
  const size_t rank = bias.sizes.size();
  if (bias.dtype != ir::DType::f32 || rank < 1 || rank > 2) return {};
  if (!bias.sizes[rank - 1].same(out.at.n)) return {};
  if (!out.at.n.same(1) && !bias.strides[rank - 1].same(1)) return {};
  out.at.bias_row = rank == 2 && bias.sizes[0] > 1 ? bias.strides[0] : ir::Sym(0);
  out.at.bias_column = 1;
  return out;
}

std::optional<std::vector<int64_t>> ints(const ir::Arg& arg, size_t count) {
  if (!arg.is<std::vector<ir::Arg>>()) return {};
  std::vector<int64_t> out;
  for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>()) {
    if (!a.is<int64_t>()) return {};
    out.push_back(a.as<int64_t>());
  }
  // PyTorch takes one number for all dims.
  if (out.size() == 1) out.resize(count, out[0]);
  if (out.size() != count) return {};
  return out;
}

bool is_contiguous(const ir::TensorType& type) {
  ir::Sym stride = 1;
  for (size_t d = type.sizes.size(); d-- > 0;) {
    if (!type.sizes[d].same(1) && !type.strides[d].same(stride)) return false;
    stride *= type.sizes[d];
  }
  return true;
}

// convolution(input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups) in two
// dims: for each image and group, out[o, place] = sum over (channel, tap) of weight[o, (channel, tap)] *
// window[(channel, tap), place].
std::optional<Operands> windows(const ir::Graph& graph, const ir::Node& node) {
  const auto& args = node.args;
  if (args.size() != 9 || !node.kwargs.empty() || !args[0].is<ir::Ref>() || !args[1].is<ir::Ref>()) return {};
  if (!args[6].is<bool>() || args[6].as<bool>() || !args[8].is<int64_t>()) return {};
  Operands out;
  out.b = args[0].as<ir::Ref>(), out.a = args[1].as<ir::Ref>();
  const ir::TensorType &image = type_of(graph, out.b), &weight = type_of(graph, out.a), &c = node.type();
  for (const ir::TensorType* t : {&image, &weight, &c})
    if (!is_filled(*t, 4) || !is_contiguous(*t)) return {};
  auto stride = ints(args[3], 2), padding = ints(args[4], 2), dilation = ints(args[5], 2);
  const int64_t groups = args[8].as<int64_t>();
  if (!stride || !padding || !dilation || groups < 1) return {};
  cpp::ProductNumbers& at = out.at;
  at.taps_x = weight.sizes[3], at.taps = weight.sizes[2] * weight.sizes[3];
  if (at.taps > cpp::kMostTaps) return {};
  const ir::Sym channels = weight.sizes[1], plane = image.sizes[2] * image.sizes[3];
  at.m = ir::floordiv(weight.sizes[0], groups), at.n = c.sizes[2] * c.sizes[3], at.k = channels * at.taps;
  at.a_row = at.k, at.a_k = 1, at.b_k = plane, at.b_column = 1, at.c_row = at.n;
  at.inner = groups, out.batch = image.sizes[0] * groups;
  at.a_inner = at.m * at.k, at.b_inner = channels * plane, at.b_outer = groups * at.b_inner;
  at.c_inner = at.m * at.n, at.c_outer = groups * at.c_inner;
  at.height = image.sizes[2], at.width = image.sizes[3], at.out_width = c.sizes[3];
  at.stride_y = (*stride)[0], at.stride_x = (*stride)[1];
  at.pad_y = (*padding)[0], at.pad_x = (*padding)[1];
  at.dilation_y = (*dilation)[0], at.dilation_x = (*dilation)[1];
  // A window of one place that goes over every place is the image itself.
  out.image = at.taps > 1 || *stride != std::vector<int64_t>{1, 1} || *padding != std::vector<int64_t>{0, 0};
  if (args[2].is_none()) return out;
  if (!args[2].is<ir::Ref>()) return {};
  out.bias = args[2].as<ir::Ref>();
  if (!is_filled(type_of(graph, *out.bias), 1)) return {};
  at.bias_row = type_of(graph, *out.bias).strides[0];
  at.bias_inner = at.m * at.bias_row;
  return out;
}

struct Operator {
  std::string_view op;
  std::optional<Operands> (*operands)(const ir::Graph&, const ir::Node&);
};
constexpr Operator kOperators[] = {
    {"aten.mm.default", matrices},
    {"aten.addmm.default", matrices},
    {"aten.bmm.default", matrices},
    {"aten.convolution.default", windows},
};

std::optional<Operands> operands(const ir::Graph& graph, const ir::Node& node) {
  if (node.outputs.size() != 1) return {};
  for (const Operator& row : kOperators)
    if (row.op == node.op) return row.operands(graph, node);
  return {};
}

// A second tile is tried where it needs one panel, and the first two or a wider one; elsewhere they are
// equals.
bool worth_trying(int32_t candidate, int64_t columns) {
  if (kCandidates[candidate].winograd) return true;
  const cpp::ProductTile& tile = kCandidates[candidate].tile;
  const cpp::ProductTile& before = kCandidates[candidate - 1].tile;
  const int64_t one = before.columns() + cpp::kMostBeside;
  const bool fits = columns <= tile.columns() && (columns > one || tile.columns() < before.columns());
  return tile.lanes != before.lanes || fits;
}

int64_t up(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

// The few columns behind the last whole panel are computed beside it, where a's rows run along the sum.
ir::Sym panels_of(const cpp::ProductNumbers& at, const cpp::ProductTile& tile) {
  if (at.n.symbolic()) return ir::ceildiv(at.n, tile.columns());
  const int64_t n = at.n, behind = n % tile.columns();
  const bool beside = n > tile.columns() && behind > 0 && behind <= cpp::kMostBeside && at.a_k.same(1);
  return up(n, tile.columns()) - (beside ? 1 : 0);
}

// Whether the matrices' own sizes change.
bool any_size(const cpp::ProductNumbers& at) {
  return at.m.symbolic() || at.n.symbolic() || at.k.symbolic();
}

// As few as let each thread have nearly the same number of items: threads get theirs beforehand, and a panel
// is packed anew for each chunk.
int64_t chunks_for_threads(const cpp::ProductNumbers& at, int64_t panels, const cpp::ProductTile& tile,
                           int threads) {
  constexpr double kNearly = 0.9;
  const int64_t most = std::clamp<int64_t>(up(at.m.hint(), int64_t{8} * tile.rows), 1, int64_t{4} * threads);
  int64_t best = 1;
  double best_share = 0;
  for (int64_t chunks = 1; chunks <= most && best_share < kNearly; ++chunks) {
    const int64_t items = panels * chunks, each = up(items, threads);
    const double share = static_cast<double>(items) / static_cast<double>(each * threads);
    if (share > best_share) best = chunks, best_share = share;
  }
  return best;
}

// A left factor that is larger than caches is read once: panel after panel goes over rows that stay near.
int64_t near_chunks(const cpp::ProductNumbers& at, bool image) {
  constexpr int64_t kFar = int64_t{4} << 20, kNear = int64_t{1} << 16, kLeastRows = 256;  // values
  const int64_t m = at.m.hint(), k = at.k.hint();
  if (image || at.panels.hint() == 1 || m * k <= kFar) return 1;
  return up(m, std::max(kNear / k, kLeastRows));
}

// Whole tiles of rows that are packed at a time.
int64_t most_rows(const cpp::ProductTile& tile) {
  return cpp::kMostRows / tile.rows * tile.rows;
}

// Rows that few panels read are not worth it.
bool packs_rows(const Operands& of, const cpp::ProductTile& tile, bool any_size) {
  constexpr int64_t kLeastPanels = 4;
  return tile.packs && !of.image && (any_size || up(of.at.n.hint(), tile.columns()) >= kLeastPanels);
}

void share_product(Operands& of, const cpp::ProductTile& tile, int threads, bool packs, Kernel& kernel) {
  cpp::ProductNumbers& at = of.at;
  at.panels = panels_of(at, tile);
  const ir::Sym panels = at.panels * of.batch;
  const ir::Sym wanted =
      ir::max(chunks_for_threads(at, panels.hint(), tile, threads),
              packs ? ir::ceildiv(at.m, most_rows(tile)) : ir::Sym(near_chunks(at, of.image)));
  at.chunk = ir::ceildiv(ir::ceildiv(at.m, wanted), tile.rows) * tile.rows;
  at.chunks = ir::ceildiv(at.m, at.chunk);
  kernel.work = panels * at.chunks;
}

// Windows of 3 x 3 at every place, of so many channels that vectors of them are full.
bool is_for_winograd(const Operands& of) {
  constexpr int64_t kLeastTiles = 8;
  const cpp::ProductNumbers& at = of.at;
  if (any_size(at) || at.out_width.symbolic()) return false;
  return of.image && at.taps == 9 && at.taps_x == 3 && at.stride_y == 1 && at.stride_x == 1 &&
         at.dilation_y == 1 && at.dilation_x == 1 && at.k % (9 * 16) == 0 && at.m >= 8 &&
         at.n >= 4 * kLeastTiles;
}

// Rows or panels for each thread: a row's weights are transformed for each run of panels, a panel's tiles for
// each chunk of rows. Several images are shared out whole.
void share_winograd(Operands& of, const cpp::ProductTile& tile, int threads, Kernel& kernel) {
  // Cycles, about: of a row's channel, of a panel's, of both.
  const bool wide = tile.lanes == 16;
  const double weight = wide ? 6.5 : 20, tiles = 400, sum = wide ? 48 : 31;
  cpp::ProductNumbers& at = of.at;
  at.k = ir::floordiv(at.k, at.taps);
  at.out_height = ir::floordiv(at.n, at.out_width), at.tiles_x = ir::ceildiv(at.out_width, 2);
  at.n = at.tiles_x * ir::ceildiv(at.out_height, 2);
  at.panels = panels_of(at, tile);
  at.batch = of.batch, at.images = ir::ceildiv(of.batch, threads);
  double least = 0;
  const int64_t blocks = up(at.m, tile.rows), wanted = up(threads, of.batch.hint());
  for (int64_t parts = 1; parts <= std::min(wanted, blocks); ++parts) {
    const int64_t runs = std::min<int64_t>(up(wanted, parts), at.panels);
    const int64_t rows = up(blocks, parts) * tile.rows, run = up(at.panels, runs);
    const auto r = static_cast<double>(rows), p = static_cast<double>(run);
    const double cost = weight * r + tiles * p + sum * r * p;
    if (parts > 1 && cost >= least) continue;
    least = cost, at.chunk = rows, at.run = run;
  }
  at.chunks = ir::ceildiv(at.m, at.chunk);
  at.scratch = cpp::winograd_scratch(tile, at);
  kernel.work = ir::ceildiv(of.batch, at.images) * at.chunks * ir::ceildiv(at.panels, at.run);
  kernel.scratch = kernel.work * at.scratch;
}

// A weight or a constant, or a view of one, in a graph that writes nothing.
bool is_unwritten_weight(const ir::Graph& graph, ir::Ref value) {
  const ir::Node* at = &graph.node(value.node);
  const auto is_view = [](const ir::Node& node) {
    const ops::OpRow* row = node.kind == ir::NodeKind::op ? ops::find(node.op) : nullptr;
    return row && row->lower == ops::Lower::view && !node.args.empty() && node.args[0].is<ir::Ref>();
  };
  while (is_view(*at)) at = &graph.node(at->args[0].as<ir::Ref>().node);
  return (ops::is_weight(*at) || at->kind == ir::NodeKind::constant) && ops::only_reads(graph);
}

// Chunks are of whole tiles, so that only the last has rows left.
cpp::ProductEdges edges_of(const cpp::ProductNumbers& at, const cpp::ProductTile& tile) {
  cpp::ProductEdges edges;
  const int64_t rows = at.m % tile.rows, columns = at.n - (at.panels - 1) * tile.columns();
  const int64_t vectors = up(columns, tile.lanes);
  edges.beside = columns > tile.columns();
  edges.narrow = vectors < tile.vectors ? static_cast<int>(vectors) : 0;
  edges.part = !edges.beside && columns % tile.lanes > 0;
  edges.four_rows = rows >= 4;
  edges.one_row = rows % 4 > 0 || (rows > 0 && edges.narrow > 0);
  return edges;
}

std::vector<ir::Sym> numbers(const cpp::ProductNumbers& at) {
  const auto all = std::bit_cast<std::array<ir::Sym, cpp::kProductNumbers>>(at);
  return {all.begin(), all.end()};
}

}  // namespace

bool is_product(const ir::Node& node) {
  return std::any_of(std::begin(kOperators), std::end(kOperators),
                     [&](const Operator& row) { return row.op == node.op; });
}

bool is_matrix_product(const ir::Node& node) {
  constexpr std::string_view kNames[] = {"aten.mm.default", "aten.bmm.default", "aten.addmm.default",
                                         "aten.baddbmm.default", "aten._addmm_activation.default"};
  return std::find(std::begin(kNames), std::end(kNames), node.op) != std::end(kNames);
}

bool is_gpu_product(const ir::Node& node) {
  return !node.outputs.empty() && node.type().device.is_cuda() && is_matrix_product(node);
}

std::span<const ProductCandidate> product_candidates() {
  return kCandidates;
}

std::optional<ProductCall> product_call(const ir::Graph& graph, const ir::Node& node, int32_t candidate,
                                        int lanes, const ProductOptions& options) {
  const cpp::ProductTile& tile = product_candidates()[static_cast<size_t>(candidate)].tile;
  if (tile.lanes != lanes) return {};  // of other vectors, or a library's
  auto of = operands(graph, node);
  if (!of) return {};
  cpp::ProductNumbers& at = of->at;
  const auto made = options.choices.find(node.id);
  const bool dictated = options.only == candidate || made != options.choices.end();
  if (!dictated && !worth_trying(candidate, at.n.hint())) return {};
  const ir::Sym flops = 2 * of->batch * at.m * at.n * at.k;
  if (flops.hint() < options.least_flops) return {};
  const bool any = options.any_size || any_size(at);

  const bool winograd = product_candidates()[static_cast<size_t>(candidate)].winograd;
  if (winograd && (any || !is_for_winograd(*of))) return {};
  const std::string extents = ir::text(at.m) + " × " + ir::text(at.n) + " × " + ir::text(at.k);

  ProductCall call;
  Kernel& kernel = call.kernel;
  const bool packs = packs_rows(*of, tile, any);
  if (winograd)
    share_winograd(*of, tile, options.threads, kernel);
  else
    share_product(*of, tile, options.threads, packs, kernel);
  call.reads = {of->a, of->b};
  if (of->bias) call.reads.push_back(*of->bias);
  call.numbers = numbers(at);
  call.form = {of->bias.has_value(), of->image, 0};
  if (!any) call.form.edges = edges_of(at, tile);
  if (winograd) call.form.edges.part = false;
  call.form.packs = packs;
  call.form.held =
      options.holds_weights && of->batch.same(1) && !of->image && is_unwritten_weight(graph, of->b);
  if (is_contiguous(node.type()) && !winograd)
    call.space = {ir::floordiv(of->batch, at.inner), at.inner, at.m, at.n};
  kernel.name = std::string(of->image ? "convolution" : "product") + (of->bias ? "_bias" : "");
  kernel.text = winograd ? cpp::winograd_text(tile, call.form) : cpp::product_text(tile, call.form);
  kernel.space = (of->batch.same(1) ? "" : ir::text(of->batch) + " × ") + extents;
  kernel.family = "matmul";
  if (call.form.held) kernel.held = cpp::held_values(tile, at);
  kernel.nodes = {node.id};
  auto lines = static_cast<int32_t>(std::count(kernel.text.begin(), kernel.text.end(), '\n'));
  kernel.lines = {{1, lines, 0, 0, node.id}};
  kernel.bytes = node.type().bytes();
  for (ir::Ref r : call.reads) kernel.bytes += type_of(graph, r).bytes();
  kernel.flops = flops;
  return call;
}

void add_epilogue(ProductCall& call, const cpp::Epilogue& epilogue, const Kernel& alone, int32_t candidate) {
  Kernel& kernel = call.kernel;
  call.form.after = static_cast<int>(epilogue.arguments.size());
  const std::string product =
      cpp::product_text(product_candidates()[static_cast<size_t>(candidate)].tile, call.form);
  auto count = [](const std::string& text) {
    return static_cast<int32_t>(std::count(text.begin(), text.end(), '\n'));
  };
  const ir::NodeId node = kernel.nodes.front();
  kernel.lines = epilogue.lines;
  const int32_t first = count(epilogue.text) + 1;
  kernel.lines.push_back({first, first + count(product) - 1, 0, 0, node});
  kernel.text = epilogue.text + product;
  kernel.name += "_" + alone.name;
  kernel.nodes.insert(kernel.nodes.end(), alone.nodes.begin(), alone.nodes.end());
  // The product itself is neither written to memory nor read back.
  const cpp::ProductSpace& s = *call.space;
  kernel.bytes += alone.bytes - 2 * s.outer * s.inner * s.m * s.n * static_cast<int64_t>(sizeof(float));
  kernel.flops += alone.flops;
  call.numbers.insert(call.numbers.end(), epilogue.numbers.begin(), epilogue.numbers.end());
}

}  // namespace vitrine::codegen
