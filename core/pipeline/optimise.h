// The rows of the pipeline that are passes over a graph: from the ATen graph to the one that fusion reads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/ir/recorder.h"
#include "core/pipeline/pipeline.h"

namespace vitrine::pipeline {

struct PassOptions {
  bool verify = false;  // after every pass
  Settings settings;
  std::string stop_after;                         // name of the last pass to run, "" = all
  std::shared_ptr<ir::NodeIds> ids;               // of the compilation; nullptr: above the graph's own
  std::shared_ptr<OptBisect> bisect;              // may forbid single rewrites; may be null
  std::shared_ptr<const codegen::Faults> faults;  // may be null
  std::function<bool()> cancelled;                // polled before each pass
  std::function<void(const Row&, const ir::GraphPtr&)> after;  // sees each pass's result; may be empty
};

// Records every snapshot, the ATen graph first, and a row a stage. Errors: cancelled; a broken law or an
// internal error, named by its pass.
Result<ir::GraphPtr> optimise(ir::GraphPtr aten, const PassOptions& options, ir::Recorder* recorder);

}  // namespace vitrine::pipeline
