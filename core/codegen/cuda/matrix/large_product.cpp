#include "core/codegen/cuda/matrix/large_product.h"

#include <algorithm>

#include "core/ops/node.h"
#include "core/ops/table.h"

namespace vitrine::codegen::cuda {

namespace {

constexpr int64_t kRows = 128, kDeep = 64;                      // of a tile, of a step
constexpr int64_t kPassed = int64_t{8} * 16 * 72 * 2;           // what eight warps pass on (tile_prelude.h)
constexpr int64_t kRun = 8;                                     // elements of 16 bytes
constexpr int64_t kLeast = 64, kLeastFlops = int64_t{1} << 26;  // smaller ones are over before a tile is full

const ir::TensorType& type_of(const ir::Graph& graph, ir::Ref r) {
  return graph.node(r.node).outputs.at(static_cast<size_t>(r.output));
}

bool is_fixed(const ir::TensorType& type) {
  const auto fixed = [](const ir::Sym& n) { return !n.symbolic(); };
  return std::all_of(type.sizes.begin(), type.sizes.end(), fixed) &&
         std::all_of(type.strides.begin(), type.strides.end(), fixed) && fixed(type.offset);
}

// along, across: dims of the inner dim and of m or n.
std::optional<TileOperand> operand(const ir::TensorType& type, ir::Ref value, size_t inner, size_t outer) {
  TileOperand out{value};
  const int64_t along = type.strides[inner].hint(), across = type.strides[outer].hint();
  if (along != 1 && across != 1) return {};
  out.turned = along != 1;
  out.step = out.turned ? along : across;
  const auto aligned = [](int64_t step) { return step > 0 && step % kRun == 0; };
  if (!aligned(out.step)) return {};
  if (type.sizes.size() == 3) out.image_step = type.strides[0].hint();
  if (type.sizes.size() == 3 && !aligned(out.image_step)) return {};
  return out;
}

TensorMap map_of(const LargeProduct& p, const TileOperand& of, int64_t outer, int32_t argument,
                 int32_t tile_rows) {
  TensorMap map;
  map.argument = argument, map.dtype = p.dtype;
  map.along = of.turned ? outer : p.k, map.rows = of.turned ? p.k : outer;
  map.row_step = of.step;
  map.images = p.images, map.image_step = p.images > 1 ? of.image_step : map.rows * of.step;
  map.tile_along = kDeep, map.tile_rows = of.turned ? static_cast<int32_t>(kDeep) : tile_rows;
  return map;
}

}  // namespace

int64_t ProductTiles::shared_bytes() const {
  constexpr int64_t kElement = 2, kBarrier = 8, kAlign = 1024;
  return kAlign + stages * ((kRows + columns) * kDeep * kElement + 2 * kBarrier) + kPassed;
}

int64_t LargeProduct::blocks(const ProductTiles& tiles) const {
  return images * ((m + kRows - 1) / kRows) * ((n + tiles.columns - 1) / tiles.columns);
}

std::optional<LargeProduct> large_product(const ir::Graph& graph, const ir::Node& node) {
  const bool added = node.op == "aten.addmm.default", batched = node.op == "aten.bmm.default";
  if (!added && !batched && node.op != "aten.mm.default") return {};
  const size_t count = added ? 3 : 2;
  if (node.outputs.size() != 1 || node.args.size() != count) return {};
  for (const ir::Arg& arg : node.args)
    if (!arg.is<ir::Ref>()) return {};
  for (const auto& [name, arg] : node.kwargs)
    if (!added || !ops::is_one(arg)) return {};
  const ir::Ref a = node.args[count - 2].as<ir::Ref>(), b = node.args[count - 1].as<ir::Ref>();
  const ir::TensorType &left = type_of(graph, a), &right = type_of(graph, b), &out = node.type();
  const size_t rank = batched ? 3 : 2;
  for (const ir::TensorType* t : {&left, &right, &out})
    if (t->dtype != out.dtype || t->sizes.size() != rank || !is_fixed(*t) || !t->device.is_cuda()) return {};
  const bool narrow = out.dtype == ir::DType::bf16 || out.dtype == ir::DType::f16;
  if (!narrow || !out.is_contiguous()) return {};
  LargeProduct p;
  p.dtype = out.dtype, p.device = out.device.index;
  p.m = out.sizes[rank - 2].hint(), p.n = out.sizes[rank - 1].hint(), p.k = left.sizes[rank - 1].hint();
  p.images = batched ? out.sizes[0].hint() : 1;
  if (std::min({p.m, p.n, p.k}) < kLeast || p.flops() < kLeastFlops) return {};
  const auto one = operand(left, a, rank - 1, rank - 2), other = operand(right, b, rank - 2, rank - 1);
  if (!one || !other) return {};
  p.a = *one, p.b = *other;
  if (!added) return p;
  p.added = node.args[0].as<ir::Ref>();
  const ir::TensorType& row = type_of(graph, *p.added);
  const bool fits =
      row.dtype == p.dtype && row.sizes.size() == 1 && row.sizes[0].same(p.n) && row.strides[0].same(1);
  return fits ? std::optional(p) : std::nullopt;
}

std::vector<TensorMap> tensor_maps(const LargeProduct& product, const ProductTiles& tiles) {
  return {map_of(product, product.a, product.m, 2, kRows),
          map_of(product, product.b, product.n, 3, tiles.columns)};
}

}  // namespace vitrine::codegen::cuda
