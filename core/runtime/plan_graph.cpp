// Whether the calls of a plan may become replays of a CUDA Graph.
#include <algorithm>

#include "core/ops/node.h"
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

// Steps that touch the CPU's memory alone: they run before a replay, which gets what they computed by value.
void ProgramPlan::find_host_steps() {
  for (Step& step : steps_) {
    step.on_host = !step.buffers.empty() || !step.outs.empty();
    for (const auto* list : {&step.buffers, &step.outs})
      for (int32_t b : *list)
        step.on_host = step.on_host && table_.rows[static_cast<size_t>(b)].type.device.is_cpu();
    has_host_steps_ = has_host_steps_ || step.on_host;
  }
}

std::string ProgramPlan::why_no_graph() const {
  if (table_.gpu < 0) return "it does not run on a GPU";
  if (only_compiled_) return "it was compiled for a GPU that is not here";
  int launches = 0;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const codegen::Step& step = program_.steps[s];
    launches += step.kind != StepKind::view && !steps_[s].on_host;
    for (const auto& [name, value] : step.node.kwargs)
      if (step.random && name == "generator" && !value.is_none())
        return step.label + " draws from a generator of its own";
    if (step.random && program_.draws_on >= 0 && !torch_api::cuda_rng(program_.draws_on).skips)
      return step.label + " draws random numbers between those that kernels draw";
    if (step.random && steps_[s].on_host) return step.label + " draws random numbers on the CPU";
  }
  if (launches < kFewLaunches) return "it has few launches";
  if (std::string why = why_no_graph_for_memory(); !why.empty()) return why;
  std::vector<int32_t> returned;
  for (const ResultItem& item : results_) {
    if (item.view) return "it returns a view";
    if (item.buffer < 0) continue;
    const int32_t base = root(item.buffer);
    if (table_.rows[static_cast<size_t>(base)].type.device.is_cpu() && !is_idle_seed(base))
      return "it returns a tensor on the CPU";
    const BufferKind kind = table_.rows[static_cast<size_t>(base)].kind;
    if (kind == BufferKind::input || kind == BufferKind::constant) return "it returns an input";
    for (int32_t other : returned)
      if (other != item.buffer && root(other) == base) return "two results share memory";
    returned.push_back(item.buffer);
  }
  return "";
}

// The generator's seed or offset, which attention hands to its backward. While a graph is recorded it lies on
// the GPU, so what is read must be of the same recording.
bool ProgramPlan::is_seed_of_graph(size_t s, int32_t b) const {
  const BufferTable::Row& row = table_.rows[static_cast<size_t>(b)];
  const ir::Node& node = program_.steps[s].node;
  if (steps_[s].kind != StepKind::opaque || !ops::is_attention(node) || !row.type.sizes.empty()) return false;
  if (!ops::drops_out(node)) return true;
  const auto returned = [&](const ResultItem& item) { return item.buffer >= 0 && root(item.buffer) == b; };
  return row.kind == BufferKind::foreign && root(b) == b &&
         std::none_of(results_.begin(), results_.end(), returned);
}

// What attention that does not drop out made of it: nobody reads it.
bool ProgramPlan::is_idle_seed(int32_t b) const {
  for (size_t s = 0; s < steps_.size(); ++s)
    if (std::find(steps_[s].outs.begin(), steps_[s].outs.end(), b) != steps_[s].outs.end())
      return !ops::drops_out(program_.steps[s].node) && is_seed_of_graph(s, b);
  return false;
}

// On the CPU only numbers that kernels of our own get by value, and what computes them; all else on one GPU.
std::string ProgramPlan::why_no_graph_for_memory() const {
  for (const BufferTable::Row& row : table_.rows)
    if (row.type.device.is_cuda() && row.type.device.index != table_.gpu) return "it runs on several GPUs";
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    if (step.on_host) continue;
    for (size_t i = 0; i < step.buffers.size() + step.outs.size(); ++i) {
      const bool read = i < step.buffers.size();
      const int32_t b = read ? step.buffers[i] : step.outs[i - step.buffers.size()];
      const ir::TensorType& type = table_.rows[static_cast<size_t>(b)].type;
      // An undefined tensor has no elements, and stands on the CPU.
      if (type.device.is_cuda() || type.numel() == 0 || is_seed_of_graph(s, b)) continue;
      if (!read || i >= step.by_value.size() || !step.by_value[i])
        return program_.steps[s].label + " (" +
               (step.op ? ir::short_op(program_.steps[s].node.op) : "a kernel") +
               ") works with memory of the CPU and of the GPU";
    }
  }
  return "";
}

// Which versions a replay has to count: what a call counts itself, and what PyTorch counts.
void ProgramPlan::count_in_graph(GraphRuns::Roles& roles) const {
  auto input = [&](int32_t b) { return table_.rows[static_cast<size_t>(root(b))].input; };
  for (const Step& step : steps_) {
    if (step.on_host) continue;
    for (int32_t b : step.counted) roles.counted.push_back(static_cast<size_t>(input(b)));
    for (int32_t b : step.written) roles.written[static_cast<size_t>(input(b))] = true;
    if (!step.op) continue;
    for (int32_t b : step.op->mutates()) {
      if (input(b) < 0) continue;
      roles.written[static_cast<size_t>(input(b))] = true;
      const bool counts = std::find(step.uncounted.begin(), step.uncounted.end(), b) == step.uncounted.end();
      if (root(b) == b && counts) roles.counted_by_pytorch.push_back(static_cast<size_t>(input(b)));
    }
  }
}

// Which inputs and results only kernels of our own touch, and where.
void ProgramPlan::prepare_graph(const CompileOptions& options) {
  std::vector<bool> foreign(table_.rows.size(), false);  // by buffer without views: PyTorch touches it
  for (const Step& step : steps_) {
    if (step.kind == StepKind::view || step.gpu || step.on_host) continue;
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
    if (our_inputs[i]) source[b] = {0, GraphUse::Of::input, i, 0};
  }
  for (size_t i = 0; i < kept; ++i) {
    const int32_t b = results_[i].buffer;
    if (b < 0 || root(b) != b || foreign[static_cast<size_t>(b)] || source.contains(b)) continue;
    if (table_.rows[static_cast<size_t>(b)].kind != BufferKind::output) continue;
    our_results[i] = true;
    source[b] = {0, GraphUse::Of::result, i, 0};
  }
  if (options.is_backward)
    for (size_t i = 0; i < kept; ++i) lent[i] = !our_results[i];
  follow_arguments(source);
  GraphRuns::Roles roles;
  roles.our_inputs = std::move(our_inputs), roles.our_results = std::move(our_results);
  roles.lent = std::move(lent);
  roles.may_copy_lent = options.is_backward;
  roles.written.assign(program_.input_buffer.size(), false);
  count_in_graph(roles);
  if (program_.draws_on >= 0) {
    roles.generator = generator_.get();
    roles.advance = program_.draws.front();
  }
  if (options.is_backward) roles.calls_before = kSettled;
  graphs_ = std::make_unique<GraphRuns>(table_.gpu, std::move(roles));
}

// Which arguments of our kernels lie in which tensor of the call, or are which of the host's numbers.
void ProgramPlan::follow_arguments(const std::unordered_map<int32_t, GraphUse>& source) {
  for (Step& step : steps_) {
    if (!step.gpu) continue;
    for (size_t a = 0; a < step.buffers.size(); ++a) {
      int32_t b = step.buffers[a];
      if (a < step.by_value.size() && step.by_value[a]) {
        step.uses.push_back({a, GraphUse::Of::number, graph_numbers_.size(), 0});
        graph_numbers_.emplace_back(b, step.by_value[a]);
        continue;
      }
      int64_t bytes = 0;
      for (; table_.rows[static_cast<size_t>(b)].view_of >= 0;
           b = table_.rows[static_cast<size_t>(b)].view_of)
        bytes += table_.rows[static_cast<size_t>(b)].shift *
                 ir::dtype_bytes(table_.rows[static_cast<size_t>(b)].type.dtype);
      if (auto it = source.find(b); it != source.end())
        step.uses.push_back({a, it->second.of, it->second.index, bytes});
    }
  }
}

}  // namespace vitrine::runtime
