#include "core/runtime/graph_launches.h"

namespace vitrine::runtime {

void GraphLaunches::add(const cuda::Function& function, const codegen::Grid& grid,
                        const std::vector<GraphUse>& uses, void* const* arguments, size_t count, bool draws,
                        void* stream) {
  if (uses.empty() && !draws) return;
  void* node = cuda::recorded_launch(stream);
  complete_ = complete_ && node;
  launches_.push_back({&function, grid, node, {arguments, arguments + count}, uses, draws});
}

std::string GraphLaunches::point_at(void* executable, const std::vector<void*>& inputs,
                                    const std::vector<void*>& results,
                                    const torch_bridge::CudaGenerator::State& draws) {
  std::vector<void*> addresses;
  for (Launch& launch : launches_) {
    bool moved = launch.draws;
    if (launch.draws) {
      launch.arguments.end()[-2] = reinterpret_cast<void*>(draws.seed);
      launch.arguments.end()[-1] = reinterpret_cast<void*>(draws.offset);
    }
    for (const GraphUse& use : launch.uses) {
      auto* base = static_cast<char*>((use.result ? results : inputs)[use.index]);
      if (!base) continue;  // it stays where it was recorded
      void*& argument = launch.arguments[use.argument];
      moved |= argument != base + use.bytes;
      argument = base + use.bytes;
    }
    if (!moved) continue;
    addresses.clear();
    for (void*& a : launch.arguments) addresses.push_back(&a);
    const std::string failed = launch.function->set_recorded(executable, launch.node, launch.grid.blocks,
                                                             launch.grid.threads, addresses.data());
    if (!failed.empty()) return failed;
  }
  return "";
}

}  // namespace vitrine::runtime
