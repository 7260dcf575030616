// Products whose values one element-wise kernel alone reads: both can be one kernel of our own, which
// computes what follows on the blocks of the product that are still in the cache.
#pragma once

#include <optional>

#include "core/codegen/products.h"
#include "core/fusion/fuse.h"

namespace vitrine::codegen {

// The product (position in loops.loops) that the unit follows; nothing: there is none, or one whose operands
// would have to be kept for it.
std::optional<size_t> followed_product(const fusion::LoopProgram& loops, const fusion::Readers& readers,
                                       const fusion::FusedProgram& fused, size_t unit);

// Joins the products that were chosen so with their epilogues: Unit::product. The decisions say so.
void join_products(const fusion::LoopProgram& loops, const fusion::Readers& readers,
                   fusion::FusedProgram& fused, const ProductChoices& choices);

}  // namespace vitrine::codegen
