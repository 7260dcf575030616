// Attention on the CPU: a kernel of ours in place of PyTorch's, where nobody wants what its backward reads.
#include <algorithm>
#include <array>
#include <bit>

#include "core/codegen/cpp/attention_text.h"
#include "core/codegen/program_builder.h"
#include "core/ops/attention/whole_rows.h"

namespace vitrine::codegen {

namespace {

using ir::Sym;
using ir::TensorType;

// Types as they lie behind the pointers that the kernel gets.
struct AttentionTensors {
  TensorType query, key, value, out;
  std::optional<TensorType> mask;
};

// What a vector of so many lanes holds the sums of.
std::optional<cpp::ProductTile> tile_of(int lanes) {
  if (lanes == 16) return cpp::ProductTile{16, 6, 4};
  if (lanes == 8) return cpp::ProductTile{8, 6, 2};
  return std::nullopt;
}

// Of both products: the columns of the one are places, those of the other a value's numbers.
cpp::ProductEdges edges_of(const cpp::AttentionNumbers& n, const cpp::ProductTile& tile) {
  cpp::ProductEdges edges;
  edges.beside = false;
  if (n.length.symbolic() || n.places.symbolic()) return edges;
  edges.narrow = 0;
  edges.part = false;
  for (const Sym& columns : {n.places, n.width}) {
    const int64_t behind = columns.hint() % tile.columns();
    const int vectors = static_cast<int>((behind + tile.lanes - 1) / tile.lanes);
    if (behind % tile.lanes != 0) edges.part = true;
    if (vectors == 0 || vectors == tile.vectors) continue;
    edges.narrow = edges.narrow == 0 || edges.narrow == vectors ? vectors : -1;
  }
  const int64_t left = n.length.hint() % tile.rows;
  edges.four_rows = left >= 4;
  edges.one_row = left % 4 > 0 || (left > 0 && edges.narrow != 0);
  return edges;
}

// As many chunks as give each thread several, of no fewer rows than are worth the packing of keys and values.
Sym chunk_of(const Sym& heads, const Sym& length, const cpp::ProductTile& tile, int threads) {
  constexpr int64_t kEach = 4, kLeastTiles = 6;
  const int64_t wanted = std::max<int64_t>(kEach * threads / std::max<int64_t>(heads.hint(), 1), 1);
  const Sym most = ir::ceildiv(length, cpp::kMostAttentionRows / tile.rows * tile.rows);
  const Sym useful = ir::ceildiv(length, kLeastTiles * tile.rows);
  const Sym chunks = ir::max(most, ir::min(Sym(wanted), useful));
  return ir::ceildiv(ir::ceildiv(length, chunks), tile.rows) * tile.rows;
}

void place_mask(const TensorType& mask, cpp::AttentionNumbers& n) {
  const size_t rank = mask.sizes.size();
  auto step = [&](size_t from_last) {
    if (from_last > rank || mask.sizes[rank - from_last].same(1)) return Sym(0);
    return mask.strides[rank - from_last];
  };
  n.mask = mask.offset;
  n.mask_batch = step(4), n.mask_head = step(3), n.mask_row = step(2), n.mask_place = step(1);
}

cpp::AttentionNumbers numbers_of(const AttentionTensors& t, const cpp::ProductTile& tile, int threads) {
  const TensorType &q = t.query, &k = t.key, &v = t.value;
  cpp::AttentionNumbers n;
  n.heads = q.sizes[1], n.length = q.sizes[2], n.places = k.sizes[2], n.width = q.sizes[3];
  n.share = ir::floordiv(q.sizes[1], k.sizes[1]);
  n.chunk = chunk_of(q.sizes[0] * q.sizes[1], n.length, tile, threads);
  n.chunks = ir::ceildiv(n.length, n.chunk);
  n.q = q.offset, n.q_batch = q.strides[0], n.q_head = q.strides[1], n.q_row = q.strides[2];
  n.k = k.offset, n.k_batch = k.strides[0], n.k_head = k.strides[1], n.k_row = k.strides[2];
  n.v = v.offset, n.v_batch = v.strides[0], n.v_head = v.strides[1], n.v_row = v.strides[2];
  n.out_batch = t.out.strides[0], n.out_head = t.out.strides[1], n.out_row = t.out.strides[2];
  if (t.mask) place_mask(*t.mask, n);
  return n;
}

Kernel attention_kernel(const ops::WholeRows& what, const AttentionTensors& t, const cpp::ProductTile& tile,
                        int threads) {
  const cpp::AttentionNumbers n = numbers_of(t, tile, threads);
  const Sym heads = t.query.sizes[0] * n.heads;
  Kernel kernel;
  kernel.name = "attention", kernel.family = "matmul";
  kernel.text = cpp::attention_text(tile, {what.scale, t.mask.has_value(), what.causal, edges_of(n, tile)});
  kernel.space =
      ir::text(heads) + " × " + ir::text(n.length) + " × " + ir::text(n.places) + " × " + ir::text(n.width);
  const auto numbers = std::bit_cast<std::array<Sym, cpp::kAttentionNumbers>>(n);
  kernel.numbers.assign(numbers.begin(), numbers.end());
  kernel.work = heads * n.chunks;
  kernel.flops = 4 * heads * n.length * n.places * n.width;
  for (const TensorType* type : {&t.query, &t.key, &t.value, &t.out}) kernel.bytes += type->bytes();
  if (t.mask) kernel.bytes += t.mask->bytes();
  return kernel;
}

}  // namespace

// false: it is PyTorch's.
bool ProgramBuilder::add_cpu_attention(int u) {
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  const ir::Node& n = loops_.graph->node(loops_.loops[unit.loops[0]].node);
  const auto tile = tile_of(options_.lanes);
  if (!tile || !options_.fuse || options_.by_pytorch.contains(n.id)) return false;
  const ops::TypeOf type_of = [this](ir::Ref r) -> const TensorType& { return loops_.placement(r).type; };
  const auto what = ops::whole_rows(n, type_of, cpp::kMostAttentionWidth);
  const bool backward = last_unit_.contains(ir::Ref{n.id, 1});
  if (!what || backward) return false;
  Step step;
  step.kind = Step::Kind::kernel;
  step.may_fail = false;
  step.label = unit.label;
  auto read = [&](const ir::Arg& a) { return read_root(a.as<ir::Ref>(), step.buffers); };
  AttentionTensors tensors{read(what->query), read(what->key), read(what->value), n.type(), {}};
  if (what->mask) tensors.mask = read(*what->mask);
  step.outs = {new_buffer({n.id, 0})};
  step.buffers.push_back(step.outs[0]);
  Kernel kernel = attention_kernel(*what, tensors, *tile, options_.products.threads);
  kernel.label = unit.label;
  kernel.nodes = {n.id};
  const auto lines = std::count(kernel.text.begin(), kernel.text.end(), '\n');
  kernel.lines = {{1, static_cast<int32_t>(lines), 0, 0, n.id}};
  step.numbers = std::exchange(kernel.numbers, {});
  step.kernel = static_cast<int32_t>(program_.kernels.size());
  program_.kernels.push_back(std::move(kernel));
  add_step(std::move(step), u);
  return true;
}

}  // namespace vitrine::codegen
