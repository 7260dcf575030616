#include "core/capture/segment/sized_plan.h"

#include <utility>

#include "core/autograd/joint.h"

namespace vitrine::capture {

std::shared_ptr<runtime::Plan> sized_plan(Instance& instance, const runtime::CompileOptions& options,
                                          const std::function<bool()>& cancelled) {
  SymbolicGraph* graph = instance.evaluated.get();
  if (!graph) return nullptr;
  if (!std::exchange(graph->forward_tried, true)) {
    const ir::GraphPtr& aten = graph->joint ? graph->joint->halves.forward : graph->graphs.aten;
    auto plans = runtime::compile_sized(aten, graph->table, options, cancelled);
    if (plans) graph->forward = plans.take();
  }
  return graph->forward ? graph->forward->at(instance.values) : nullptr;
}

std::function<std::shared_ptr<runtime::Plan>()> sized_backward(const Instance& instance,
                                                               runtime::CompileOptions options) {
  if (!instance.evaluated) return {};
  options.kept_results = -1;
  options.versions = {};
  options.is_backward = true;
  return [graph = instance.evaluated, values = instance.values,
          options = std::move(options)]() -> std::shared_ptr<runtime::Plan> {
    if (!std::exchange(graph->backward_tried, true)) {
      auto plans = runtime::compile_sized(graph->joint->halves.backward, graph->table, options);
      if (plans) graph->backward = plans.take();
    }
    return graph->backward ? graph->backward->at(values) : nullptr;
  };
}

}  // namespace vitrine::capture
