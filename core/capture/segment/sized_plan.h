// The plans that one compilation of a graph of expressions gives to the instances of a segment.
#pragma once

#include <functional>
#include <memory>

#include "core/capture/segment/instance.h"

namespace vitrine::capture {

// The plan for the instance's sizes: of its graph, or the forward half of that. The graph is compiled when it
// is first asked for. Null: the instance has none, or the compilation does not serve its sizes.
std::shared_ptr<runtime::Plan> sized_plan(Instance& instance, const runtime::CompileOptions& options,
                                          const std::function<bool()>& cancelled);
// The same of its backward graph; options: the forward half's. Empty: there is none.
std::function<std::shared_ptr<runtime::Plan>()> sized_backward(const Instance& instance,
                                                               runtime::CompileOptions options);

}  // namespace vitrine::capture
