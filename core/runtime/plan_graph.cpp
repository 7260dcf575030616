// Whether the calls of a plan may become replays of a CUDA Graph.
#include "core/runtime/plan.h"

namespace vitrine::runtime {

using BufferKind = codegen::Buffer::Kind;
using StepKind = codegen::Step::Kind;

namespace {

// Below this the launches cost less than copying inputs and results.
constexpr int kFewLaunches = 4;
// Calls of backward until what forward's graph lends it has come twice at the same place.
constexpr int kSettled = 4;

}  // namespace

GraphFacts ProgramPlan::graph_facts() const {
  GraphFacts facts;
  if (graphs_)
    facts = graphs_->facts();
  else if (!no_graph_.empty())
    facts.state = "none", facts.reason = no_graph_;
  for (const codegen::Step& step : program_.steps) facts.launches += step.kind != StepKind::view;
  return facts;
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

// Which inputs and results only kernels of our own touch, and where.
void ProgramPlan::prepare_graph(const CompileOptions& options) {
  std::vector<bool> foreign(table_.rows.size(), false);  // by buffer without views: PyTorch touches it
  for (const Step& step : steps_) {
    if (step.kind == StepKind::view || step.gpu) continue;
    for (const auto* list : {&step.buffers, &step.outs})
      for (int32_t b : *list) foreign[static_cast<size_t>(root(b))] = true;
  }
  for (size_t b = 0; b < program_.buffers.size(); ++b)
    if (int32_t other = program_.buffers[b].reuses; other >= 0)
      foreign[b] = foreign[static_cast<size_t>(root(other))] = true;  // memory that two values share
  const size_t kept = options.kept_results < 0 ? results_.size() : static_cast<size_t>(options.kept_results);
  std::vector<bool> our_inputs(program_.input_buffer.size(), false), our_results(results_.size(), false);
  std::vector<bool> lent(results_.size(), false);
  for (size_t i = kept; i < lent.size(); ++i) lent[i] = true;
  std::unordered_map<int32_t, GraphUse> source;  // by buffer: what of the call it is
  for (size_t i = 0; i < our_inputs.size(); ++i) {
    const int32_t b = program_.input_buffer[i];
    our_inputs[i] = !foreign[static_cast<size_t>(b)];
    if (our_inputs[i]) source[b] = {0, false, i, 0};
  }
  for (size_t i = 0; i < kept; ++i) {
    const int32_t b = results_[i].buffer;
    if (b < 0 || root(b) != b || foreign[static_cast<size_t>(b)] || source.contains(b)) continue;
    if (table_.rows[static_cast<size_t>(b)].kind != BufferKind::output) continue;
    our_results[i] = true;
    source[b] = {0, true, i, 0};
  }
  for (Step& step : steps_) {
    if (!step.gpu) continue;
    for (size_t a = 0; a < step.buffers.size(); ++a) {
      int64_t bytes = 0;
      int32_t b = step.buffers[a];
      for (; table_.rows[static_cast<size_t>(b)].view_of >= 0;
           b = table_.rows[static_cast<size_t>(b)].view_of)
        bytes += table_.rows[static_cast<size_t>(b)].shift *
                 ir::dtype_bytes(table_.rows[static_cast<size_t>(b)].type.dtype);
      if (auto it = source.find(b); it != source.end())
        step.uses.push_back({a, it->second.result, it->second.index, bytes});
    }
  }
  GraphRuns::Roles roles{std::move(our_inputs), std::move(our_results), std::move(lent)};
  if (options.is_backward) roles.calls_before = kSettled;
  roles.generator = generator_.get();
  if (generator_) roles.advance = program_.draws.front();
  graphs_ = std::make_unique<GraphRuns>(table_.gpu, std::move(roles));
}

}  // namespace vitrine::runtime
