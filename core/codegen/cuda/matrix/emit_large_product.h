// The kernel of a large product: tiles of tile_prelude.h, then what is computed of their elements.
#pragma once

#include <optional>

#include "core/codegen/cuda/emit.h"
#include "core/codegen/cuda/matrix/large_product.h"

namespace vitrine::codegen::cuda {

// Its arguments are a, b, the maps of both, the added row if there is one, and the output.
Kernel emit_large_product(const LargeProduct& product, ir::NodeId node, const ProductTiles& tiles);

// Whether a kernel that follows the product, which is argument `product` of its schedule, can be part of it:
// element-wise over the product's elements in their order.
bool may_follow(const Schedule& schedule, int product, const LargeProduct& of);

// Both. Its arguments are those of the product without an output, then the schedule's without `product`.
Kernel emit_large_product(const LargeProduct& of, ir::NodeId node, const ProductTiles& tiles,
                          const fusion::LoopProgram& program, const fusion::Unit& unit,
                          const Schedule& schedule, int product);

}  // namespace vitrine::codegen::cuda
