// A GPU's products: a library's call, PyTorch's own or one of cuBLASLt's algorithms, or a kernel of ours,
// alone or with what follows it.
#include <algorithm>

#include "core/codegen/cuda/matrix/emit_large_product.h"
#include "core/codegen/program_builder.h"

namespace vitrine::codegen {

void ProgramBuilder::offer_gpu_product(const fusion::Unit& unit, Step& step, int32_t chosen) {
  if (!is_gpu_product(step.node)) return;
  const ProductOptions& how = options_.products;
  const auto candidates = product_candidates();
  if (chosen) {
    step.algorithm = candidates[static_cast<size_t>(chosen)].algorithm;
    if (auto made = tiled(step, chosen, unit.label)) {
      step.instead = {std::move(*made)};
      take_first(step);
    }
    return;
  }
  if (!how.offered || !how.on_gpu) return;
  for (size_t i = 1; i < candidates.size(); ++i) {
    const auto candidate = static_cast<int32_t>(i);
    if (how.only && candidate != how.only) continue;
    if (candidates[i].algorithm > 0)
      step.instead.push_back({candidate, -1, "", step.buffers, {}});
    else if (auto made = tiled(step, candidate, unit.label))
      step.instead.push_back(std::move(*made));
  }
}

std::optional<Alternative> ProgramBuilder::tiled(const Step& step, int32_t candidate,
                                                 const std::string& label) {
  const cuda::ProductTiles& tiles = product_candidates()[static_cast<size_t>(candidate)].tiles;
  if (!tiles.columns || !options_.gpu.tiles || options_.sizes) return {};
  const auto product = cuda::large_product(*loops_.graph, step.node);
  if (!product) return {};
  Kernel kernel = cuda::emit_large_product(*product, step.node.id, tiles);
  kernel.label = label;
  Alternative made;
  made.candidate = candidate;
  made.kernel = static_cast<int32_t>(program_.kernels.size());
  for (const ir::Ref r : {product->a.value, product->b.value, product->a.value, product->b.value})
    made.buffers.push_back(buffer_for(r));
  if (product->added) made.buffers.push_back(buffer_for(*product->added));
  made.buffers.push_back(step.outs.at(0));
  program_.kernels.push_back(std::move(kernel));
  return made;
}

// step: the epilogue's, with its buffers.
std::optional<Alternative> ProgramBuilder::tiled_with(size_t product, const fusion::Unit& unit,
                                                      const Schedule& schedule, const Step& step,
                                                      int32_t candidate) {
  const cuda::ProductTiles& tiles = product_candidates()[static_cast<size_t>(candidate)].tiles;
  if (!tiles.columns || !options_.gpu.tiles || options_.sizes) return {};
  const ir::Node& node = loops_.graph->node(loops_.loops[product].node);
  const auto of = cuda::large_product(*loops_.graph, node);
  const auto at = std::find_if(schedule.arguments.begin(), schedule.arguments.end(),
                               [&](const Argument& a) { return a.root == ir::Ref{node.id, 0}; });
  const auto position = static_cast<int>(at - schedule.arguments.begin());
  if (!of || at == schedule.arguments.end() || !cuda::may_follow(schedule, position, *of)) return {};
  fusion::Unit alone = unit;
  std::erase(alone.loops, product);
  Kernel kernel = cuda::emit_large_product(*of, node.id, tiles, loops_, alone, schedule, position);
  kernel.label = unit.label;
  Alternative made;
  made.candidate = candidate;
  made.kernel = static_cast<int32_t>(program_.kernels.size());
  for (const ir::Ref r : {of->a.value, of->b.value, of->a.value, of->b.value})
    made.buffers.push_back(buffer_for(r));
  if (of->added) made.buffers.push_back(buffer_for(*of->added));
  for (size_t a = 0; a < schedule.arguments.size(); ++a)
    if (static_cast<int>(a) != position) made.buffers.push_back(step.buffers[a]);
  program_.kernels.push_back(std::move(kernel));
  return made;
}

}  // namespace vitrine::codegen
