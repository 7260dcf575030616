// The rows of the pipeline that are passes over a graph: from the ATen graph to the one that fusion reads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/ir/recorder.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/user_pass.h"

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
  std::shared_ptr<const UserPasses> user;                      // may be null
  // Hears what was wrong with a pass of the user's; the graph goes on without it. May be empty.
  std::function<void(const Error&)> user_failed;
  std::function<void(const ir::GraphPtr&)> stage_done;  // sees the last graph of each stage; may be empty
};

// Records every snapshot, the ATen graph first, and a row a stage. Errors: cancelled; a broken law or an
// internal error, named by its pass.
Result<ir::GraphPtr> optimise(ir::GraphPtr aten, const PassOptions& options, ir::Recorder* recorder);

}  // namespace vitrine::pipeline
