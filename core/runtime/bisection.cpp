#include "core/runtime/bisection.h"

#include <algorithm>

namespace vitrine::runtime {

namespace {

// "K2 add_gelu (mul, gelu at model.py:12)": operators, and the place of the last that has one.
std::string kernel_text(const codegen::Kernel& kernel, const ir::Graph& graph) {
  constexpr size_t kMost = 4;
  std::string names, place;
  size_t named = 0;
  for (const ir::NodeId id : kernel.nodes) {
    const ir::Node* node = graph.find(id);
    if (!node) continue;
    if (++named <= kMost) names += (names.empty() ? "" : ", ") + node->name;
    if (!node->origin.file.empty()) place = ir::name_and_place(*node).substr(node->name.size());
  }
  if (named > kMost) names += ", …";
  return kernel.label + " " + kernel.name + " (" + names + place + ")";
}

}  // namespace

bool hold_back(OptBisect& bisect, const ir::Graph& graph, codegen::Program& program,
               std::set<ir::NodeId>& by_pytorch) {
  constexpr auto kKernel = OptBisect::Of::kernel;
  bool any = false;
  for (codegen::Step& step : program.steps) {
    const bool generated = step.kind == codegen::Step::Kind::kernel;
    if (generated) {
      const codegen::Kernel& kernel = program.kernels[static_cast<size_t>(step.kernel)];
      if (!bisect.allows(kKernel, kernel_text(kernel, graph))) {
        any = true;
        by_pytorch.insert(kernel.nodes.begin(), kernel.nodes.end());
        continue;
      }
    }
    const bool offers = std::any_of(step.instead.begin(), step.instead.end(),
                                    [](const codegen::Alternative& a) { return a.kernel >= 0; });
    if (offers && !generated && !bisect.allows(kKernel, "product " + ir::name_and_place(step.node)))
      std::erase_if(step.instead, [](const codegen::Alternative& a) { return a.kernel >= 0; });
  }
  return any;
}

void hold_back(OptBisect& bisect, const ir::Graph& graph, codegen::ProductChoices& choices) {
  for (auto& [id, choice] : choices) {
    const ir::Node* node = graph.find(id);
    if (!choice.fused || !node) continue;
    if (bisect.allows(OptBisect::Of::fusion, "epilogue: " + ir::name_and_place(*node) + " + what follows it"))
      continue;
    choice.candidate = 0;
    choice.fused = false;
  }
}

}  // namespace vitrine::runtime
