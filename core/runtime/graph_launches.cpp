#include "core/runtime/graph_launches.h"

namespace vitrine::runtime {

void GraphLaunches::add(const cuda::GpuFunction& function, const codegen::Grid& grid,
                        const std::vector<GraphUse>& uses, std::span<void* const> arguments, Form form,
                        void* stream) {
  if (uses.empty() && form != Form::draws) return;
  void* node = cuda::recorded_launch(stream);
  complete_ = complete_ && node;
  launches_.push_back({&function, grid, node, {arguments.begin(), arguments.end()}, uses, form, 0});
  if (form == Form::draws) launches_.back().from = reinterpret_cast<uint64_t>(arguments.back());
}

std::string GraphLaunches::point_at(void* executable, const std::vector<void*>& inputs,
                                    const std::vector<void*>& results, const std::vector<void*>& numbers,
                                    const torch_api::CudaGenerator::State& draws) {
  std::vector<void*> addresses;
  for (Launch& launch : launches_) {
    bool moved = launch.form == Form::draws;
    if (moved) {
      launch.arguments.end()[-2] = reinterpret_cast<void*>(draws.seed);
      launch.arguments.end()[-1] = reinterpret_cast<void*>(draws.offset + launch.from);
    }
    for (const GraphUse& use : launch.uses) {
      void*& argument = launch.arguments[use.argument];
      void* now = nullptr;
      if (use.of == GraphUse::Of::number) {
        now = numbers[use.index];
      } else {
        auto* base = static_cast<char*>((use.of == GraphUse::Of::result ? results : inputs)[use.index]);
        if (!base) continue;  // it stays where it was recorded
        now = base + use.bytes;
      }
      moved |= argument != now;
      argument = now;
    }
    if (!moved) continue;
    addresses.clear();
    if (launch.form == Form::packed)
      addresses.push_back(launch.arguments.data());
    else
      for (void*& a : launch.arguments) addresses.push_back(&a);
    const std::string failed = launch.function->set_recorded(executable, launch.node, launch.grid.blocks,
                                                             launch.grid.threads, addresses.data());
    if (!failed.empty()) return failed;
  }
  return "";
}

}  // namespace vitrine::runtime
