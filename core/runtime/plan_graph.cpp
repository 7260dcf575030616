// Whether the calls of a plan may become replays of a CUDA Graph.
#include "core/runtime/plan.h"

namespace vitrine::runtime {

using BufferKind = codegen::Buffer::Kind;
using StepKind = codegen::Step::Kind;

namespace {

// Below this the launches cost less than copying inputs and results.
constexpr int kFewLaunches = 4;

}  // namespace

std::string ProgramPlan::graph_state() const {
  if (!graphs_) return no_graph_;
  if (!graphs_->off().empty()) return graphs_->off();
  return graphs_->recorded() ? "recorded" : "watching";
}

std::string ProgramPlan::why_no_graph() const {
  if (table_.gpu < 0) return "it does not run on a GPU";
  if (only_compiled_) return "it was compiled for a GPU that is not here";
  int launches = 0;
  for (const codegen::Step& step : program_.steps) {
    launches += step.kind != StepKind::view;
    if (step.random) return step.label + " draws random numbers";
    if (step.writes_input) return step.label + " writes to an input";
  }
  if (launches < kFewLaunches) return "it has few launches";
  for (const Step& step : steps_)
    if (!step.written.empty()) return "it writes to an input";
  for (const BufferTable::Row& row : table_.rows)
    if (!row.type.device.is_cuda() || row.type.device.index != table_.gpu)
      return "a tensor of it is not on the GPU";
  std::vector<int32_t> returned;
  for (const ResultItem& item : results_) {
    if (item.view) return "it returns a view";
    if (item.buffer < 0) continue;
    const int32_t base = root(item.buffer);
    const BufferKind kind = table_.rows[static_cast<size_t>(base)].kind;
    if (kind == BufferKind::input || kind == BufferKind::constant) return "it returns an input";
    for (int32_t other : returned)
      if (other != item.buffer && root(other) == base) return "two results share memory";
    returned.push_back(item.buffer);
  }
  return "";
}

}  // namespace vitrine::runtime
