
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <utility>

#include "core/base/clock.h"
#include "core/codegen/cuda/joined_text.h"
#include "core/codegen/schedule/scalar_code.h"
#include "core/runtime/cuda/driver.h"
#include "core/runtime/plan.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/errors_aside.h"
#include "core/torch_api/profiled_range.h"

namespace vitrine::runtime {

namespace bridge = torch_api;
using StepKind = codegen::Step::Kind;

namespace {

constexpr size_t kKeptStates = 2;

// Our code stands below autograd and autocast: both are off while it runs, as they were recorded.
struct RawMode {
  bool grad;
  bool autocast[2];
  bridge::ErrorsAside errors;  // eager runs a call that fails
  static constexpr ir::Device::Type kDevices[2] = {ir::Device::Type::cpu, ir::Device::Type::cuda};
  explicit RawMode(bool keep_grad) : grad(!keep_grad && bridge::grad_enabled()) {
    if (grad) bridge::set_grad_enabled(false);
    for (int d = 0; d < 2; ++d) {
      autocast[d] = bridge::autocast_enabled(kDevices[d]);
      if (autocast[d]) bridge::set_autocast_enabled(kDevices[d], false);
    }
  }
  ~RawMode() {
    if (grad) bridge::set_grad_enabled(true);
    for (int d = 0; d < 2; ++d)
      if (autocast[d]) bridge::set_autocast_enabled(kDevices[d], true);
  }
};

struct KernelCall {
  KernelFunction function;
  void* const* arguments;
};

void run_chunk(int64_t begin, int64_t end, void* context) {
  auto* call = static_cast<KernelCall*>(context);
  call->function(call->arguments, begin, end);
}

bool has_sizes(const bridge::TensorView& made, const ir::TensorType& type) {
  return std::equal(made.sizes, made.sizes + made.ndim, type.sizes.begin(), type.sizes.end());
}
// Same strides, where they matter; of equal sizes.
bool lies_as(const bridge::TensorView& made, const ir::TensorType& type) {
  bool empty = false, same = true;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    empty = empty || made.sizes[d] == 0;
    same = same && (made.sizes[d] == 1 || made.strides[d] == type.strides[d]);
  }
  return same || empty;
}

// The number itself, instead of where it lies.
void load_value(void*& argument, int32_t bytes) {
  int64_t word = 0;
  std::memcpy(&word, argument, static_cast<size_t>(bytes));
  argument = std::bit_cast<void*>(word);
}

}  // namespace

// Takes the written inputs and the generators back to where the call found them.
void ProgramPlan::roll_back(CallState& state) {
  for (auto it = state.saved.rbegin(); it != state.saved.rend(); ++it) {
    if (!bridge::copy_into(bridge::handle_of(it->tensor), it->copy)) bridge::PendingError dropped;
    if (!it->version) continue;
    bridge::set_version(state.handle(root(it->buffer)), static_cast<int32_t>(*it->version));
  }
  if (state.random_state && !bridge::set_generator_state(state.random_state)) bridge::PendingError dropped;
  if (!state.draws.empty() && !generator_->set_offset(state.draws.front().offset))
    bridge::PendingError dropped;
}

std::unique_ptr<CallState> ProgramPlan::take_state() {
  if (free_.empty()) return std::make_unique<CallState>(table_);
  auto state = std::move(free_.back());
  free_.pop_back();
  return state;
}

void ProgramPlan::give_back(std::unique_ptr<CallState> state) {
  state->clear();
  if (free_.size() < kKeptStates) free_.push_back(std::move(state));
}

bool ProgramPlan::run(_object* const* inputs, size_t n_inputs, std::vector<_object*>& outputs,
                      std::vector<LaunchTime>* times, std::vector<_object*>* given_up) {
  const bool ok = run_given(inputs, n_inputs, outputs, times, given_up);
  if (!given_up) return ok;
  bridge::PendingError error;  // dropping a tensor may run Python
  for (_object*& o : *given_up) bridge::drop(std::exchange(o, nullptr));
  error.restore();
  return ok;
}

bool ProgramPlan::run_watched(std::span<_object* const> inputs, std::vector<_object*>& outputs,
                              const WantedValue& wanted, std::vector<SeenValue>& seen) {
  seen_ = &seen;
  wanted_ = &wanted;
  std::vector<LaunchTime> times;  // a call whose launches are timed is no replay
  const bool ok = run_given(inputs.data(), inputs.size(), outputs, &times, nullptr);
  seen_ = nullptr;
  return ok;
}

bool ProgramPlan::note_values(size_t step, CallState& state) {
  if (step >= watched_.size()) return true;
  for (const auto& [value, buffer] : watched_[step]) {
    if (!(*wanted_)(value)) continue;
    bridge::Handle held = state.handle(buffer);
    bridge::Handle copy = held ? bridge::clone(held) : nullptr;
    _object* tensor = copy ? bridge::wrap(copy) : nullptr;
    if (!tensor) return false;
    seen_->push_back({value, program_.steps[step].label, tensor});
  }
  return true;
}

bool ProgramPlan::run_given(_object* const* inputs, size_t n_inputs, std::vector<_object*>& outputs,
                            std::vector<LaunchTime>* times, std::vector<_object*>* given_up) {
  if (n_inputs != program_.input_buffer.size()) {
    bridge::set_python_error("a plan was called with the wrong number of inputs");
    return false;
  }
  if (only_compiled_) {
    bridge::set_python_error("the graph was compiled for a GPU that is not here");
    return false;
  }
  bool keep_grad = returns_input_view_ && std::none_of(inputs, inputs + n_inputs, bridge::requires_grad);
  RawMode raw(keep_grad);
  if (graphs_ && !times) {
    auto launch = [&](_object* const* given, std::vector<_object*>& out, GraphLaunches* seen) {
      return run_launches(given, out, nullptr, seen);
    };
    auto numbers = [this](_object* const* given, std::vector<void*>& out) {
      return host_numbers(given, out);
    };
    const auto outcome = graphs_->run(inputs, n_inputs, outputs, launch, numbers);
    if (outcome != GraphRuns::Outcome::not_served) return outcome == GraphRuns::Outcome::served;
  }
  return run_launches(inputs, outputs, times, nullptr, given_up);
}

// Runs the steps on the CPU of a call that is a replay otherwise.
bool ProgramPlan::host_numbers(_object* const* inputs, std::vector<void*>& numbers) {
  if (graph_numbers_.empty() && !has_host_steps_) return true;
  std::unique_ptr<CallState> state;
  bool ok = true;
  try {
    state = take_state();
    state->begin(inputs, false);
    for (const Step& step : steps_) ok = ok && (!step.on_host || run_step(step, *state));
    for (const auto& [buffer, bytes] : graph_numbers_) {
      if (!ok) break;
      load_value(numbers.emplace_back(state->pointer(buffer)), bytes);
    }
  } catch (const std::exception& e) {
    bridge::set_python_error(e.what());
    ok = false;
  }
  if (!ok && state) {
    bridge::PendingError error;
    roll_back(*state);
    error.restore();
  }
  if (state) give_back(std::move(state));
  return ok;
}

bool ProgramPlan::run_launches(_object* const* inputs, std::vector<_object*>& outputs,
                               std::vector<LaunchTime>* times, GraphLaunches* seen,
                               std::vector<_object*>* given_up) {
  std::unique_ptr<CallState> state;
  bool ok = false;
  try {
    state = take_state();
    state->begin(inputs);
    state->recording = seen;
    state->given_up = given_up;
    ok = run_in(*state, outputs, times);
  } catch (const std::exception& e) {  // no memory, or PyTorch refused what the plan took for granted
    bridge::set_python_error(e.what());
  }
  if (state) give_back(std::move(state));
  return ok;
}

bool ProgramPlan::run_in(CallState& state, std::vector<_object*>& outputs, std::vector<LaunchTime>* times) {
  size_t before = outputs.size();
  bool ok = false;
  try {
    ok = starts_as_compiled(state) && run_steps(state, times) && collect(state, outputs);
  } catch (const std::exception& e) {
    bridge::set_python_error(e.what());
  }
  if (ok) return true;
  bridge::PendingError error;
  roll_back(state);
  error.restore();
  for (size_t i = before; i < outputs.size(); ++i) bridge::drop(outputs[i]);
  outputs.resize(before);
  return false;
}

// A result that is a view of an input names its place from the storage's start, so an input that starts
// elsewhere than at capture is for eager. Found out before the first step: afterwards an input may have been
// written.
bool ProgramPlan::starts_as_compiled(CallState& state) {
  for (const ResultItem& item : results_) {
    if (!item.view) continue;
    const int32_t base = root(item.buffer);
    const auto& row = table_.rows[static_cast<size_t>(base)];
    if (row.kind != codegen::Buffer::Kind::input && row.kind != codegen::Buffer::Kind::constant) continue;
    if (bridge::view(state.handle(base)).storage_offset == row.type.offset) continue;
    bridge::set_python_error("an input starts elsewhere in its storage than when it was compiled");
    return false;
  }
  return true;
}

// Nothing reads the input any more: its memory goes, if the caller left it to the call.
void ProgramPlan::give_up(CallState& state, int32_t input) const {
  _object*& own = (*state.given_up)[static_cast<size_t>(input)];
  if (!own) return;
  for (const int32_t b : of_input_[static_cast<size_t>(input)]) state.release(b);
  bridge::drop(std::exchange(own, nullptr));
}

// The generator's state for what kernels draw until the next step that is random. While a graph is recorded
// nothing is drawn: each replay gives its launches its own state at the call's begin, from which those of a
// segment are as far as they were in the calls before. What PyTorch draws in the graph has to stand behind
// what kernels draw since the step before.
bool ProgramPlan::begin_draws(CallState& state, int segment) {
  if (!generator_) return true;
  const auto s = static_cast<size_t>(segment);
  if (program_.draws_on < 0) {  // PyTorch alone draws: the state is kept for a call that fails
    if (segment > 0 || state.recording || generator_->take(0, state.draws.emplace_back())) return true;
    const bridge::PendingError recorded;  // by the caller, into a graph of his own
    state.draws.clear();
    return true;
  }
  bridge::CudaGenerator::State& at = state.draws.emplace_back();
  if (!state.recording) {
    if (!generator_->take(program_.draws[s], at)) return false;
    drawn_before_.resize(program_.draws.size());
    drawn_before_[s] = at.offset - state.draws.front().offset;
    return true;
  }
  VITRINE_CHECK(s < drawn_before_.size(), "a call is recorded that never ran");
  at.offset = drawn_before_[s];
  return segment == 0 || program_.draws[s] == 0 || generator_->skip(program_.draws[s]);
}

// As an operator of PyTorch's is seen; those of the other steps are some.
bool ProgramPlan::run_profiled(size_t s, CallState& state) {
  const codegen::Step& step = program_.steps[s];
  if (step.kernel < 0 || step.kind != StepKind::kernel) return run_step(steps_[s], state);
  const codegen::Kernel& kernel = program_.kernels[static_cast<size_t>(step.kernel)];
  std::vector<bridge::Handle> given;
  for (const int32_t b : step.buffers) {
    const codegen::Buffer::Kind kind = table_.rows[static_cast<size_t>(b)].kind;
    const bool of_caller = kind == codegen::Buffer::Kind::input || kind == codegen::Buffer::Kind::constant;
    if (const bridge::Handle h = of_caller ? state.handle(b) : nullptr) given.push_back(h);
  }
  const bridge::ProfiledRange range("vitrine::" + (kernel.name.empty() ? kernel.label : kernel.name), given);
  return run_step(steps_[s], state);
}

bool ProgramPlan::run_steps(CallState& state, std::vector<LaunchTime>* times) {
  if (!begin_draws(state, 0)) return false;
  const bool profiled = bridge::is_profiled();
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (state.recording && steps_[s].on_host) continue;  // it runs before each replay
    int64_t start = times ? monotonic_ns() : 0;
    if (!(profiled ? run_profiled(s, state) : run_step(steps_[s], state))) return false;
    if (seen_ && !note_values(s, state)) return false;
    if (times) times->push_back({static_cast<int32_t>(s), start, monotonic_ns()});
  }
  return true;
}

// How often the caller's tensor that holds the buffer was written to. What the plan made itself nobody has
// seen.
std::optional<uint32_t> ProgramPlan::seen_version(CallState& state, int32_t b) {
  const int32_t base = root(b);
  if (table_.rows[static_cast<size_t>(base)].kind != codegen::Buffer::Kind::input) return {};
  return bridge::version(state.handle(base));
}

bool ProgramPlan::run_step(const Step& step, CallState& state) {
  const bool kept = step.kept && step.kept->give(state);
  for (int32_t b : step.fresh)
    if (!kept && !state.allocate(b)) return false;
  // What is recorded does not run yet, and a replay does not stop between its steps.
  const bool runs = !state.recording;
  for (int32_t b : runs ? step.saved : std::vector<int32_t>()) {
    bridge::Handle h = state.handle(b);
    bridge::Handle copy = h ? bridge::clone(h) : nullptr;
    if (!copy) return false;
    _object* tensor = state.object(b);
    if (!tensor) {
      bridge::release(copy);
      return false;
    }
    bridge::retain(tensor);
    state.saved.push_back({b, tensor, copy, seen_version(state, b)});
  }
  if (runs && step.first_random && !(state.random_state = bridge::generator_state())) return false;
  std::vector<std::optional<uint32_t>> versions;
  for (int32_t b : step.uncounted) versions.push_back(bridge::version(state.handle(b)));
  bool ok = false;
  switch (step.kind) {
    case StepKind::kernel:
      ok = kept || run_kernel(step, state);
      if (ok && !kept && step.kept) ok = step.kept->keep(state);
      break;
    case StepKind::library:
    case StepKind::opaque:
      ok = step.library ? run_library(step, state) : run_opaque(step, state);
      break;
    case StepKind::view:
      ok = run_view(step, state);
      break;
  }
  for (size_t i = 0; i < versions.size(); ++i)
    if (versions[i]) bridge::set_version(state.handle(step.uncounted[i]), static_cast<int32_t>(*versions[i]));
  for (int32_t b : step.counted) {
    if (!ok || !runs || bridge::bump_version(state.handle(b))) continue;
    bridge::set_python_error("this PyTorch does not let a write to a tensor be counted");
    ok = false;
  }
  for (int32_t b : step.released) state.release(b);
  if (state.given_up)
    for (int32_t input : step.last_read) give_up(state, input);
  if (ok && step.draws_next >= 0) ok = begin_draws(state, step.draws_next);
  return ok;
}

// A GPU's kernel takes the addresses of its pointers and numbers, or that of a struct of all of them.
bool ProgramPlan::launch(const Step& step, CallState& state) {
  std::array<void*, codegen::cuda::kMostLaunchArguments> addresses;
  size_t words = step.buffers.size();
  for (size_t i = 0; i < step.by_value.size(); ++i)
    if (step.by_value[i] && !state.recording) load_value(state.arguments[i], step.by_value[i]);
  for (int64_t number : step.numbers) state.arguments[words++] = std::bit_cast<void*>(number);
  if (step.draws >= 0) {  // 64 bits each, as the pointers are
    const bridge::CudaGenerator::State& from = state.draws.at(static_cast<size_t>(step.draws));
    state.arguments[words++] = reinterpret_cast<void*>(from.seed);
    state.arguments[words++] = reinterpret_cast<void*>(from.offset);
  }
  VITRINE_CHECK(step.packed || words <= addresses.size(), "a kernel with very many arguments");
  for (size_t i = 0; i < (step.packed ? 1 : words); ++i) addresses[i] = &state.arguments[i];
  const std::string failed =
      step.gpu->launch(step.grid.blocks, step.grid.threads, state.stream(step.grid.device), addresses.data());
  if (!failed.empty()) bridge::set_python_error("a kernel could not be launched: " + failed);
  if (state.recording)
    state.recording->add(*step.gpu, step.grid, step.uses, {state.arguments.data(), words},
                         step.packed       ? GraphLaunches::Form::packed
                         : step.draws >= 0 ? GraphLaunches::Form::draws
                                           : GraphLaunches::Form::plain,
                         state.stream(step.grid.device));
  return failed.empty();
}

bool ProgramPlan::run_kernel(const Step& step, CallState& state) {
  for (size_t i = 0; i < step.buffers.size(); ++i) {
    const bool later = state.recording && i < step.by_value.size() && step.by_value[i];
    state.arguments[i] = later ? nullptr : state.pointer(step.buffers[i]);
  }
  // A kernel reads its numbers and never writes them.
  if (step.gpu) return launch(step, state);
  if (step.scalar) {
    step.scalar->run(state.arguments.data());
    return true;
  }
  if (!step.numbers.empty()) state.arguments[step.buffers.size()] = const_cast<int64_t*>(step.numbers.data());
  int64_t bad = 0;
  if (step.checks) state.arguments[step.buffers.size() + 1] = &bad;
  if (step.works_in_scratch) state.arguments[step.buffers.size() + 1] = scratch_.values();
  int64_t ready = 0;
  if (step.held) {
    const int32_t weight = step.held->buffer();
    const bridge::Handle owner = state.handle(root(weight));
    ready = step.held->is_of(bridge::version(owner), state.arguments[1],
                             table_.rows[static_cast<size_t>(weight)].type);
    state.arguments[step.buffers.size() + 1] = step.held->values();
    state.arguments[step.buffers.size() + 2] = &ready;
  }
  if (step.work <= step.grain) {
    step.function(state.arguments.data(), 0, step.work);
  } else {
    KernelCall call{step.function, state.arguments.data()};
    bridge::parallel_for(step.work, step.grain, run_chunk, &call);
  }
  if (bad) bridge::set_index_error("index out of range in self");
  return !bad;
}

bool ProgramPlan::run_library(const Step& step, CallState& state) {
  for (int32_t b : step.library->reads())
    if (!(state.handles[static_cast<size_t>(b)] = state.handle(b))) return false;
  if (step.library->into_out()) {
    int32_t out = step.outs.at(0);
    bool made = table_.rows[static_cast<size_t>(out)].kind == codegen::Buffer::Kind::foreign;
    if (made && !state.allocate(out)) return false;
    bridge::Handle given = state.handle(out);
    return given && step.library->call(state.handles.data(), &given);
  }
  std::array<bridge::Handle, 4> few{};
  std::vector<bridge::Handle> many(step.library->outs() > few.size() ? step.library->outs() : 0);
  bridge::Handle* fresh = many.empty() ? few.data() : many.data();
  bool ok = step.library->call(state.handles.data(), fresh);
  for (size_t i = 0; i < step.library->outs(); ++i) {
    if (!fresh[i]) continue;
    if (!ok || i >= step.outs.size()) {
      bridge::release(fresh[i]);
    } else if (table_.rows[static_cast<size_t>(step.outs[i])].kind == codegen::Buffer::Kind::foreign) {
      ok = take_made(step.outs[i], fresh[i], state);
    } else {
      bridge::Handle given = state.handle(step.outs[i]);
      ok = given && bridge::copy_into(given, fresh[i]);
      bridge::release(fresh[i]);
    }
  }
  return ok;
}

bool ProgramPlan::take_made(int32_t out, bridge::Handle made, CallState& state) {
  const Made is = judge(out, made);
  if (is == Made::as_planned) {
    state.take_handle(out, made);
    return true;
  }
  const bool ok = is == Made::elsewhere && state.allocate(out) && bridge::copy_into(state.handle(out), made);
  bridge::release(made);
  return ok;
}

// What PyTorch made lies as the graph says; a kernel that chose another layout (attention does, by its
// arguments) has its result moved, for what reads it was compiled for the graph's. So has one of another
// element type: types that PyTorch's meta kernels told may not be what its kernels give. Other sizes than
// the operator's rule says would be read as something else, unless nothing reads them.
ProgramPlan::Made ProgramPlan::judge(int32_t out, bridge::Handle made) const {
  const auto& row = table_.rows[static_cast<size_t>(out)];
  const bridge::TensorView view = bridge::view(made);
  if (!row.read || row.any_size) return Made::as_planned;
  if (has_sizes(view, row.type)) {
    const bool same_type = ir::dtype_from_scalar_type(view.scalar_type) == row.type.dtype;
    return same_type && lies_as(view, row.type) ? Made::as_planned : Made::elsewhere;
  }
  bridge::set_python_error("an operator returned a tensor of other sizes than its rule says");
  return Made::otherwise;
}

bool ProgramPlan::call_operator(const Step& step, CallState& state, std::vector<_object*>& returned) {
  std::optional<bridge::GradModeAlone> mode;
  if (step.asks_grad_mode) mode.emplace();
  return step.op->call(state.objects.data(), returned);
}

bool ProgramPlan::run_opaque(const Step& step, CallState& state) {
  bool reads_arena = false;
  for (int32_t b : step.op->reads()) {
    if (!(state.objects[static_cast<size_t>(b)] = state.object(b))) return false;
    reads_arena = reads_arena || table_.rows[static_cast<size_t>(root(b))].in_arena();
  }
  std::vector<_object*> returned;
  returned.swap(state.returned);  // keeps its memory between calls
  bool ok = call_operator(step, state, returned) && store_returned(step, state, returned, reads_arena);
  returned.clear();
  returned.swap(state.returned);
  return ok;
}

// Whether the value shares memory with what the operator was called with.
bool ProgramPlan::was_given(const Step& step, const CallState& state, _object* value) {
  const void* storage = bridge::storage_id(bridge::handle_of(value));
  return std::any_of(step.op->reads().begin(), step.op->reads().end(), [&](int32_t b) {
    return bridge::storage_id(bridge::handle_of(state.objects[static_cast<size_t>(b)])) == storage;
  });
}

bool ProgramPlan::store_returned(const Step& step, CallState& state, std::vector<_object*>& returned,
                                 bool reads_arena) {
  bool ok = returned.size() >= step.outs.size();
  if (!ok) bridge::set_python_error("an operator returned fewer tensors than its shape rule says");
  for (size_t i = 0; i < returned.size(); ++i) {
    _object* value = returned[i];
    if (!ok || i >= step.outs.size() || !value) {
      bridge::drop(value);
      continue;
    }
    int32_t out = step.outs[i];
    if (table_.rows[static_cast<size_t>(out)].kind != codegen::Buffer::Kind::foreign) {
      bridge::Handle given = state.handle(out);
      const bool in_place = given && bridge::data(given) == bridge::data(bridge::handle_of(value));
      ok = given && (in_place || bridge::copy_into(given, bridge::handle_of(value)));
      bridge::drop(value);
      continue;
    }
    // The arena serves the next step too: what PyTorch returns as a view of it moves out. So does what a
    // library's operator hands back against its schema.
    if ((reads_arena && state.in_arena(bridge::data(bridge::handle_of(value)))) ||
        (step.makes_new && was_given(step, state, value))) {
      bridge::Handle copy = bridge::clone(bridge::handle_of(value));
      bridge::drop(value);
      value = copy ? bridge::wrap(copy) : nullptr;
    }
    ok = value != nullptr;
    if (!ok) continue;
    const Made is = judge(out, bridge::handle_of(value));
    if (is == Made::as_planned) {
      state.take_object(out, value);
      continue;
    }
    ok = is == Made::elsewhere && state.allocate(out) &&
         bridge::copy_into(state.handle(out), bridge::handle_of(value));
    bridge::drop(value);
  }
  return ok;
}

bool ProgramPlan::run_view(const Step& step, CallState& state) {
  // Address and tensor are derived when something asks for them; but what PyTorch allocated may go before
  // that.
  for (int32_t b : step.outs) {
    bool may_go = table_.rows[static_cast<size_t>(root(b))].kind == codegen::Buffer::Kind::foreign;
    if (may_go && !state.handle(b)) return false;
  }
  return true;
}

_object* ProgramPlan::make_view(const ResultItem& item, CallState& state) {
  int32_t base = root(item.buffer);
  if (!(state.objects[static_cast<size_t>(base)] = state.object(base))) return nullptr;
  if (bridge::view(state.handle(base)).storage_offset != table_.rows[static_cast<size_t>(base)].type.offset) {
    bridge::set_python_error("an input starts elsewhere in its storage than when it was compiled");
    return nullptr;
  }
  std::vector<_object*> made;
  if (!item.view->call(state.objects.data(), made)) return nullptr;
  return made.at(0);
}

bool ProgramPlan::collect(CallState& state, std::vector<_object*>& outputs) {
  for (const ResultItem& item : results_) {
    _object* value = item.constant;
    if (item.view) {
      value = make_view(item, state);
    } else if (item.alone) {
      const bridge::Handle seen = state.object(item.buffer) ? state.handle(item.buffer) : nullptr;
      value = seen
                  ? bridge::wrap(bridge::as_strided(seen, table_.rows[static_cast<size_t>(item.buffer)].type))
                  : nullptr;
    } else {
      if (item.buffer >= 0) value = state.object(item.buffer);
      bridge::retain(value);
    }
    if (!value) return false;
    outputs.push_back(value);
    if (item.version >= 0) bridge::set_version(bridge::handle_of(value), item.version);
  }
  return true;
}

}  // namespace vitrine::runtime
