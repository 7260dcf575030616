// Choices as if measurements had found large products fastest by tiles.
#pragma once

#include "core/codegen/products.h"

namespace vitrine {

// columns: of a tile. fused: each product is one kernel with what follows it.
inline codegen::ProductChoices by_tiles(const ir::Graph& graph, int columns, bool fused) {
  codegen::ProductChoices out;
  const auto candidates = codegen::product_candidates();
  for (const ir::Node& node : graph.nodes())
    for (size_t i = 0; i < candidates.size(); ++i)
      if (columns > 0 && candidates[i].tiles.columns == columns && codegen::is_matrix_product(node))
        out[node.id] = {static_cast<int32_t>(i), fused, {}, 0, "dictated"};
  return out;
}

}  // namespace vitrine
