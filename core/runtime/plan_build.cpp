#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/ops/node.h"
#include "core/runtime/plan.h"
#include "core/torch_api/bridge.h"

namespace vitrine::runtime {

namespace bridge = torch_api;
using BufferKind = codegen::Buffer::Kind;
using StepKind = codegen::Step::Kind;

namespace {

bool holds(const std::vector<int32_t>& list, int32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

int64_t packed(ir::Ref ref) {
  return (static_cast<int64_t>(ref.node) << 32) | static_cast<uint32_t>(ref.output);
}

// aten.as_strided(base, sizes, strides, offset): a view that PyTorch itself knows to be one.
ir::Node as_strided_node(ir::Ref base, const ir::TensorType& type) {
  ir::Node node;
  node.op = "aten.as_strided.default";
  node.args = {ir::Arg(base), ir::Arg::ints(type.sizes), ir::Arg::ints(type.strides), ir::Arg(type.offset)};
  node.outputs = {type};
  return node;
}

}  // namespace

ProgramPlan::ProgramPlan(codegen::Program program, std::vector<LoadedKernel> kernels,
                         std::vector<Problem> problems)
    : program_(std::move(program)), kernels_(std::move(kernels)), problems_(std::move(problems)) {}

Result<std::shared_ptr<Plan>> ProgramPlan::make(codegen::Program program, std::vector<LoadedKernel> kernels,
                                                std::vector<Problem> problems,
                                                const CompileOptions& options) {
  VITRINE_CHECK(program.kernels.size() == kernels.size(), "a program without all its kernels");
  std::shared_ptr<ProgramPlan> plan(
      new ProgramPlan(std::move(program), std::move(kernels), std::move(problems)));
  plan->table_.arenas = options.arenas ? options.arenas : std::make_shared<ArenaPool>();
  plan->table_.keeps_results = !options.trains;
  if (Status failed = plan->prepare()) return *failed;
  if (options.graphs) {
    plan->find_host_steps();
    plan->no_graph_ = plan->why_no_graph();
  }
  if (options.graphs && plan->no_graph_.empty()) plan->prepare_graph(options);
  if (options.watched) plan->find_watched();
  plan->forget_texts();
  return std::shared_ptr<Plan>(plan);
}

codegen::Program ProgramPlan::without_texts(codegen::Program program) {
  for (codegen::Kernel& kernel : program.kernels)
    kernel.text = {}, kernel.lines = {}, kernel.nodes = {}, kernel.space = {};
  for (codegen::Step& step : program.steps) step.instead = {};
  return program;
}

// A plan lasts as long as the model: what kernels were made from, which is in the session, goes.
void ProgramPlan::forget_texts() {
  program_ = without_texts(std::move(program_));
  program_.value_buffer = {};
  slots_ = {};
  steps_.shrink_to_fit();
}

void ProgramPlan::find_watched() {
  for (size_t s = 0; s < program_.steps.size(); ++s) {
    const codegen::Step& step = program_.steps[s];
    auto& values = watched_.emplace_back();
    if (step.kind == StepKind::view) continue;
    std::vector<ir::NodeId> nodes{step.node.id};
    if (step.kind == StepKind::kernel) nodes = program_.kernels[static_cast<size_t>(step.kernel)].nodes;
    for (const auto& [value, buffer] : program_.value_buffer)
      if (holds(nodes, value.node) && holds(step.outs, buffer) && !holds(steps_[s].released, buffer))
        values.emplace_back(value, buffer);
  }
}

int32_t ProgramPlan::slot_of(ir::Ref ref) const {
  auto found = slots_.find(packed(ref));
  VITRINE_CHECK(found != slots_.end(), "no buffer holds output " + std::to_string(ref.output) + " of node " +
                                           std::to_string(ref.node));
  return found->second;
}

int32_t ProgramPlan::root(int32_t b) const {
  while (table_.rows[static_cast<size_t>(b)].view_of >= 0) b = table_.rows[static_cast<size_t>(b)].view_of;
  return b;
}

Status ProgramPlan::prepare() {
  for (const codegen::Buffer& buffer : program_.buffers) {
    BufferTable::Row row;
    row.kind = buffer.kind;
    row.type = buffer.type;
    row.input = buffer.kind == BufferKind::input || buffer.kind == BufferKind::constant ? buffer.input : -1;
    row.view_of = row.input >= 0 ? -1 : buffer.view_of;
    row.arena_offset = buffer.arena_offset;
    if (row.view_of >= 0)
      row.shift = buffer.type.offset - program_.buffers.at(static_cast<size_t>(buffer.view_of)).type.offset;
    table_.rows.push_back(std::move(row));
  }
  table_.arena_bytes = program_.arena_bytes;
  table_.host_bytes = program_.host_bytes;
  for (const BufferTable::Row& row : table_.rows) {
    if (row.in_arena() && row.type.device.is_cuda()) table_.arena_device = row.type.device;
    if (row.type.device.is_cuda()) table_.gpu = row.type.device.index;
  }
  for (const auto& [value, buffer] : program_.value_buffer) slots_.try_emplace(packed(value), buffer);
  for (const codegen::Step& from : program_.steps)
    if (Status failed = prepare_step(from, steps_.emplace_back())) return failed;
  std::vector<bool> made(table_.rows.size());
  for (Step& step : steps_)
    std::erase_if(step.fresh, [&](int32_t b) {
      const bool seen = made[static_cast<size_t>(b)];
      made[static_cast<size_t>(b)] = true;
      return seen;
    });
  prepare_kept();
  prepare_draws();
  find_last_reads();
  if (Status failed = prepare_results()) return failed;
  find_read();
  find_alone();
  find_input_views();
  find_written();
  count_as_eager();
  plan_rollback();
  slots_.clear();
  return {};
}

Status ProgramPlan::prepare_step(const codegen::Step& from, Step& step) {
  step.kind = from.kind;
  step.buffers = from.buffers;
  step.outs = from.outs;
  step.released = from.free_after;
  auto slot = [this](ir::Ref r) { return slot_of(r); };
  if (from.kind == StepKind::kernel) {
    const codegen::Kernel& kernel = program_.kernels.at(static_cast<size_t>(from.kernel));
    step.function = kernels_[static_cast<size_t>(from.kernel)].function;
    step.gpu = kernels_[static_cast<size_t>(from.kernel)].cuda.get();
    step.scalar = kernels_[static_cast<size_t>(from.kernel)].scalar.get();
    step.grid = kernel.grid;
    if (!step.function && !step.gpu && kernel.grid.blocks > 0) only_compiled_ = true;
    VITRINE_CHECK(step.function || step.scalar || kernel.grid.blocks > 0,
                  "kernel " + kernel.label + " was not compiled");
    step.work = kernel.work;
    step.grain = std::max<int64_t>(1, kernel.grain);
    step.numbers.assign(from.numbers.begin(), from.numbers.end());
    step.draws = kernel.draws;
    step.checks = kernel.checks;
    if (kernel.held > 0) step.held = std::make_unique<HeldWeight>(kernel.held, from.buffers.at(1));
    step.works_in_scratch = kernel.scratch > 0;
    scratch_.reserve(kernel.scratch);
    step.packed = kernel.packed;
    step.by_value = kernel.by_value;
    const size_t words = kernel.grid.blocks > 0 ? step.numbers.size() + 2 : 3;
    table_.max_arguments = std::max(table_.max_arguments, step.buffers.size() + words);
  }
  bool calls = from.kind == StepKind::library || from.kind == StepKind::opaque;
  if (calls) step.library = bridge::LibraryCall::make(from.node, slot, from.algorithm);
  if (calls && !step.library) {
    auto op = bridge::PreparedOp::make(from.node, slot);
    if (!op) return op.error();
    step.op = op.take();
    step.asks_grad_mode = ops::asks_grad_mode(from.node);
    step.makes_new = from.node.makes_new;
    if (const auto workspace = ops::workspace(from.node); workspace && *workspace < from.outs.size())
      table_.rows.at(static_cast<size_t>(from.outs[*workspace])).any_size = true;
    ++python_calls_;
  }
  // Memory of its own for what a kernel or a library call writes, where the arena holds none.
  bool writes_given = from.kind == StepKind::kernel || from.kind == StepKind::library;
  for (int32_t b : from.outs) {
    const BufferTable::Row& row = table_.rows.at(static_cast<size_t>(b));
    bool own = row.kind == BufferKind::output || (row.kind == BufferKind::temporary && !row.in_arena());
    if (writes_given && own && row.view_of < 0) step.fresh.push_back(b);  // the first step that does keeps it
  }
  return {};
}

// Steps of weights alone, each after those that it reads of.
void ProgramPlan::prepare_kept() {
  std::unordered_map<int32_t, const HeldResults*> makers;  // by buffer
  for (size_t s = 0; s < steps_.size(); ++s) {
    Step& step = steps_[s];
    if (!program_.steps[s].of_weights) continue;
    std::vector<int32_t> weights;
    std::vector<const HeldResults*> before;
    for (int32_t b : step.buffers) {
      if (holds(step.outs, b)) continue;
      const auto maker = makers.find(b);
      if (maker != makers.end())
        before.push_back(maker->second);
      else
        weights.push_back(b);
      VITRINE_CHECK(maker != makers.end() || table_.rows[static_cast<size_t>(b)].input >= 0,
                    "a step of weights reads something else");
    }
    step.kept = std::make_unique<HeldResults>(table_, std::move(weights), std::move(before), step.outs);
    for (int32_t b : step.outs) makers.emplace(b, step.kept.get());
  }
}

void ProgramPlan::find_last_reads() {
  of_input_.resize(program_.input_buffer.size());
  std::unordered_map<int32_t, size_t> inputs;  // by buffer
  for (size_t i = 0; i < program_.input_buffer.size(); ++i) inputs.emplace(program_.input_buffer[i], i);
  for (size_t b = 0; b < table_.rows.size(); ++b)
    if (const auto of = inputs.find(root(static_cast<int32_t>(b))); of != inputs.end())
      of_input_[of->second].push_back(static_cast<int32_t>(b));
  for (size_t i = 0; i < program_.input_buffer.size(); ++i) {
    const int32_t last = program_.buffers[static_cast<size_t>(program_.input_buffer[i])].last_step;
    if (last >= 0 && last < static_cast<int32_t>(steps_.size()))
      steps_[static_cast<size_t>(last)].last_read.push_back(static_cast<int32_t>(i));
  }
}

// What kernels draw together is taken from the generator at once: at the call's begin, and after each step
// that draws through PyTorch. It goes back there if the call fails, whoever drew.
void ProgramPlan::prepare_draws() {
  int gpu = program_.draws_on;
  for (size_t s = 0; s < steps_.size() && gpu < 0; ++s)
    for (int32_t b : steps_[s].outs) {
      const ir::Device device = table_.rows[static_cast<size_t>(b)].type.device;
      if (program_.steps[s].random && device.is_cuda()) gpu = device.index;
    }
  if (only_compiled_ || gpu < 0) return;
  generator_ = bridge::CudaGenerator::of(gpu);
  VITRINE_CHECK(generator_, "numbers are drawn where PyTorch has no generator");
  program_.draws.resize(1 + static_cast<size_t>(std::count_if(program_.steps.begin(), program_.steps.end(),
                                                              [](const auto& s) { return s.random; })));
  int segment = 0;
  for (size_t s = 0; s < steps_.size(); ++s)
    if (program_.steps[s].random) steps_[s].draws_next = ++segment;
}

// x.mul_(2) returns x: by the buffer that holds what it returned, the buffer of what it was given.
std::unordered_map<int32_t, int32_t> ProgramPlan::arguments_handed_back() const {
  std::unordered_map<int32_t, int32_t> out;
  for (const Step& step : steps_)
    if (step.op && step.outs.size() == 1 && step.op->mutates().size() == 1 &&
        step.op->mutates() == step.op->aliases() && step.outs[0] != step.op->mutates()[0])
      out.emplace(step.outs[0], step.op->mutates()[0]);
  return out;
}

// By buffer: whether it is an input, or a view that an operator made of one.
std::vector<bool> ProgramPlan::viewing_an_input() const {
  std::vector<bool> viewing;
  for (const BufferTable::Row& row : table_.rows) viewing.push_back(row.input >= 0);
  for (const Step& step : steps_) {
    if (!step.op || !step.op->mutates().empty() || step.op->aliases().size() != 1 || step.outs.size() != 1)
      continue;
    const int32_t base = root(step.op->aliases()[0]), out = step.outs[0];
    if (viewing[static_cast<size_t>(base)] && root(out) == out) viewing[static_cast<size_t>(out)] = true;
  }
  return viewing;
}

// A view that leaves the plan is made by PyTorch itself where its being a view can be seen: its base is an
// input or what an operator made of one, or leaves the plan too.
Status ProgramPlan::prepare_results() {
  std::vector<int32_t> left;  // roots of results
  const std::unordered_map<int32_t, int32_t> handed_back = arguments_handed_back();
  auto shown = [&](int32_t b) {
    for (auto at = handed_back.find(b); at != handed_back.end(); at = handed_back.find(b)) b = at->second;
    return b;
  };
  for (const ir::Arg& arg : program_.results) {
    ResultItem item;
    if (arg.is<ir::Ref>()) {
      item.buffer = slot_of(arg.as<ir::Ref>());
      left.push_back(root(shown(item.buffer)));
    } else {
      auto constant = bridge::to_python(arg);
      if (!constant) return constant.error();
      item.constant = constant.value();
    }
    results_.push_back(std::move(item));
  }
  const std::vector<bool> viewing = viewing_an_input();
  for (ResultItem& item : results_) {
    const int32_t seen = item.buffer < 0 ? -1 : shown(item.buffer);
    if (seen < 0 || table_.rows[static_cast<size_t>(seen)].view_of < 0) continue;
    int32_t base = root(seen);
    const BufferTable::Row& base_row = table_.rows[static_cast<size_t>(base)];
    VITRINE_CHECK(!base_row.in_arena(), "a result lies in the arena");
    if (!viewing[static_cast<size_t>(base)] && std::count(left.begin(), left.end(), base) < 2) continue;
    item.buffer = seen;
    auto view = prepare_view(seen);
    if (!view) return view.error();
    item.view = view.take();
    ++python_calls_;
  }
  return {};
}

// Makes the tensor of a buffer, as a view of the one whose storage it is part of.
Result<std::unique_ptr<torch_api::PreparedOp>> ProgramPlan::prepare_view(int32_t buffer) const {
  const int32_t base = root(buffer);
  return bridge::PreparedOp::make(view_node(buffer), [base](ir::Ref) { return base; });
}

ir::Node ProgramPlan::view_node(int32_t buffer) const {
  return as_strided_node({0, 0}, table_.rows[static_cast<size_t>(buffer)].type);
}

// x + 1 that was turned in place is a view where PyTorch's operators compute it, and no view for the program.
void ProgramPlan::find_alone() {
  const std::vector<int32_t> owners = version_owners();
  const std::vector<bool> made = made_inside();
  std::unordered_map<int32_t, int> shares;
  auto owner = [&](const ResultItem& item) { return owners[static_cast<size_t>(root(item.buffer))]; };
  for (const ResultItem& item : results_)
    if (item.buffer >= 0) ++shares[owner(item)];
  for (ResultItem& item : results_)
    item.alone = item.buffer >= 0 && !item.view && owner(item) != root(item.buffer) &&
                 made[static_cast<size_t>(item.buffer)] && shares[owner(item)] == 1;
}

void ProgramPlan::find_read() {
  auto read = [this](int32_t b) { table_.rows[static_cast<size_t>(root(b))].read = true; };
  for (const Step& step : steps_)
    for (int32_t b : step.buffers) read(b);
  for (const ResultItem& item : results_)
    if (item.buffer >= 0) read(item.buffer);
}

// Whether a result shares its storage with an input, as our own view or as what an operator returned. Such a
// view is made with gradients as the caller has them, or autograd would refuse later writes to it.
void ProgramPlan::find_input_views() {
  std::vector<bool> shares;
  for (const BufferTable::Row& row : table_.rows) shares.push_back(row.input >= 0);
  auto at = [&](int32_t b) { return static_cast<bool>(shares[static_cast<size_t>(root(b))]); };
  for (const Step& step : steps_) {
    if (!step.op) continue;
    const auto& aliases = step.op->aliases();
    if (std::any_of(aliases.begin(), aliases.end(), at))
      for (int32_t b : step.outs) shares[static_cast<size_t>(root(b))] = true;
  }
  for (const ResultItem& item : results_)
    if (item.buffer >= 0 && table_.rows[static_cast<size_t>(item.buffer)].input < 0 && at(item.buffer))
      returns_input_view_ = true;
}

// Which inputs are written by our own code or through our own views: their version must be counted up.
void ProgramPlan::find_written() {
  for (Step& step : steps_) {
    if (step.kind == StepKind::view) continue;
    for (int32_t b : step.op ? step.op->mutates() : step.outs) {
      const int32_t base = root(b);
      if (step.op && base == b) continue;  // PyTorch counts what it writes itself, but our views count alone
      if (table_.rows[static_cast<size_t>(base)].input >= 0 && !holds(step.written, base))
        step.written.push_back(base);
    }
  }
}

// A view that PyTorch's operator made, and what a writing one handed back, share the version of the argument;
// our own views of a buffer have versions of their own.
std::vector<int32_t> ProgramPlan::version_owners() const {
  std::vector<int32_t> owner(table_.rows.size());
  std::iota(owner.begin(), owner.end(), 0);
  for (const Step& step : steps_) {
    if (!step.op || step.op->aliases().empty()) continue;
    const int32_t argument = step.op->aliases()[0];
    for (int32_t out : step.outs)
      if (out != argument) owner[static_cast<size_t>(out)] = owner[static_cast<size_t>(argument)];
  }
  return owner;
}

// One kernel may do what were several writes, and none what came to nothing: a version tells how many the
// program has made. What was written out may be written by an operator that counts, where the whole did not.
void ProgramPlan::count_as_eager() {
  for (Step& step : steps_) step.counted = step.written;
  const codegen::WriteCounts& wanted = program_.writes;
  const std::vector<int32_t> owners = version_owners();
  const auto owner = [&](int32_t b) { return owners[static_cast<size_t>(b)]; };
  struct Writers {
    Step* last = nullptr;
    std::vector<Step*> by_pytorch;
  };
  std::unordered_map<int32_t, Writers> inputs;  // by buffer
  const size_t count = steps_.empty() ? 0 : std::min(wanted.inputs.size(), program_.input_buffer.size());
  for (size_t i = 0; i < count; ++i) inputs[program_.input_buffer[i]].last = &steps_.back();
  for (size_t s = 0; s < steps_.size(); ++s) {
    Step& step = steps_[s];
    std::erase_if(step.counted, [&](int32_t b) { return inputs.contains(b); });
    for (int32_t b : step.written)
      if (const auto found = inputs.find(b); found != inputs.end()) found->second.last = &step;
    if (!step.op || ops::counted(program_.steps[s].node).empty()) continue;
    for (int32_t b : step.op->mutates())
      if (const auto found = inputs.find(owner(b)); found != inputs.end())
        found->second.by_pytorch.push_back(&step);
  }
  for (size_t i = 0; i < count; ++i) {
    const int32_t base = program_.input_buffer[i];
    const auto& [last, by_pytorch] = inputs.at(base);
    std::erase(last->counted, base);
    const auto many = static_cast<size_t>(wanted.inputs[i]);
    if (many > by_pytorch.size()) last->counted.insert(last->counted.end(), many - by_pytorch.size(), base);
    for (size_t k = many; k < by_pytorch.size(); ++k) by_pytorch[k]->uncounted.push_back(base);
  }
  for (size_t i = 0; i < std::min(wanted.results.size(), results_.size()); ++i) {
    ResultItem& item = results_[i];
    if (item.buffer < 0) continue;
    const BufferTable::Row& memory = table_.rows[static_cast<size_t>(owner(root(item.buffer)))];
    if (memory.input < 0 && memory.kind != BufferKind::constant) item.version = wanted.results[i];
  }
}

// Buffers whose memory the call itself has made: whoever writes to it, nobody misses what it held. What an
// operator hands back of its argument is that argument.
std::vector<bool> ProgramPlan::made_inside() const {
  std::vector<int32_t> owner = version_owners();
  std::vector<bool> made(table_.rows.size());
  for (size_t b = 0; b < made.size(); ++b) {
    auto base = static_cast<int32_t>(b);
    for (int32_t next = -1; next != base;) {
      next = base;
      base = root(owner[static_cast<size_t>(base)]);
    }
    const auto kind = table_.rows[static_cast<size_t>(base)].kind;
    made[b] = kind != codegen::Buffer::Kind::input && kind != codegen::Buffer::Kind::constant;
  }
  for (const Step& step : steps_)
    if (step.op && step.op->aliases().size() > 1)
      for (int32_t out : step.outs) made[static_cast<size_t>(out)] = false;
  return made;
}

// A call that fails must leave its inputs and the generator as they were. What is written before a later step
// may still fail is copied first.
void ProgramPlan::plan_rollback() {
  size_t last_failing = 0;  // one past
  for (size_t s = 0; s < steps_.size(); ++s)
    if (program_.steps[s].may_fail) last_failing = s + 1;
  // Making a result that is a view of an input comes after every step, and may fail too.
  for (const ResultItem& item : results_)
    if (item.view) last_failing = steps_.size() + 1;
  bool random = false;
  const std::vector<bool> made = made_inside();
  for (size_t s = 0; s < std::min(last_failing, steps_.size()); ++s) {
    Step& step = steps_[s];
    if ((program_.steps[s].random || (step.op && step.op->random())) && !random)
      step.first_random = random = true;
    if (s + 1 >= last_failing) continue;  // checks its arguments before it writes
    step.saved = step.written;
    if (!step.op || step.kind != StepKind::opaque) continue;
    step.saved = step.op->mutates();
    step.saved.insert(step.saved.end(), step.op->quiet().begin(), step.op->quiet().end());
    std::erase_if(step.saved, [&](int32_t b) { return made[static_cast<size_t>(b)]; });
  }
}

ProgramPlan::~ProgramPlan() {
  for (const ResultItem& item : results_) bridge::drop(item.constant);
}

}  // namespace vitrine::runtime
