// Large products of 16-bit matrices that a kernel of ours computes on Hopper GPUs (tile_prelude.h), instead
// of a library: offered where candidates are measured, alone and with the element-wise kernel that follows
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/codegen/cuda/gpu.h"
#include "core/codegen/schedule/program.h"

namespace vitrine::codegen::cuda {

// What a block computes at a time: 128 rows of so many columns (128 or 256), with so many steps of 64 places
// in shared memory.
struct ProductTiles {
  int columns = 0, stages = 0;
  int64_t shared_bytes() const;
};

// A matrix of m rows (a: left) or n columns (b: right); steps in elements.
struct TileOperand {
  ir::Ref value;
  bool turned = false;  // it lies along these, not along the inner dim
  int64_t step = 1;     // along the other dim
  int64_t image_step = 0;
};

// out[image, m, n] = sum over k of a[image, m, k] b[image, k, n], perhaps plus a row; all of `dtype`.
struct LargeProduct {
  TileOperand a, b;
  std::optional<ir::Ref> added;
  ir::DType dtype = ir::DType::bf16;
  int64_t m = 0, n = 0, k = 0, images = 1;
  int device = 0;

  int64_t blocks(const ProductTiles& tiles) const;  // tiles, of all images
  int64_t flops() const { return 2 * images * m * n * k; }
};

// mm, bmm, or addmm with a row and no factors, of sizes that do not change; nothing: another operator, or
// matrices that the copy engine cannot read.
std::optional<LargeProduct> large_product(const ir::Graph& graph, const ir::Node& node);

// The maps of a and b, which are the kernel's arguments 2 and 3.
std::vector<TensorMap> tensor_maps(const LargeProduct& product, const ProductTiles& tiles);

}  // namespace vitrine::codegen::cuda
