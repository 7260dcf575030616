// From the ATen graph to the graph that fusion reads: one table of passes, run in order.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/ir/recorder.h"

namespace vitrine::passes {

// Returns the same pointer if it changed nothing.
using PassFn = ir::GraphPtr (*)(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

struct Pass {
  std::string_view name, stage;  // stage: what the graph is called after it (core/session/stages.h)
  PassFn run;
  std::string_view sentence;  // what it does, for the film: "composite operators are written out"
};
std::span<const Pass> pipeline();

struct PassOptions {
  bool verify = false;                // after every pass
  std::vector<std::string> disabled;  // by name
  std::string stop_after;             // name of the last pass to run, "" = all
  std::shared_ptr<ir::NodeIds> ids;   // of the compilation; nullptr: above the graph's own
  std::function<bool()> cancelled;    // polled before each pass
  std::function<void(const Pass&, const ir::GraphPtr&)> after;  // sees each pass's result; may be empty
};

// Runs the pipeline. Records every snapshot, the ATen graph first, and a row a stage. Errors: cancelled; a
// broken law or an internal error, named by its pass.
Result<ir::GraphPtr> optimise(ir::GraphPtr aten, const PassOptions& options, ir::Recorder* recorder);

}  // namespace vitrine::passes
