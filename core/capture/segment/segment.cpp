#include "core/capture/segment/segment.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "core/capture/objects/owned.h"
#include "core/capture/objects/values.h"
#include "core/capture/segment/code_segments.h"
#include "core/capture/segment/plan_call.h"
#include "core/capture/segment/python_rng.h"
#include "core/capture/segment/training.h"
#include "core/capture/signals_aside.h"
#include "core/recording/lowering_guards.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/op_call.h"

namespace vitrine::capture {

namespace {

constexpr size_t kInline = 32;  // sources kept without an allocation

// References to what the frame held before a segment ran.
class Sources {
 public:
  explicit Sources(size_t n) : n_(n) {
    if (n > kInline) many_.resize(n);
  }
  PyRef& operator[](size_t i) { return n_ > kInline ? many_[i] : few_[i]; }
  std::span<PyRef> all() { return {n_ > kInline ? many_.data() : few_.data(), n_}; }

 private:
  size_t n_;
  std::array<PyRef, kInline> few_;
  std::vector<PyRef> many_;
};

// A float that is an input of the graph (core/capture/interpreter/symbolic/floats.cpp).
bool is_float_input(PyObject* input) {
  return input && PyFloat_CheckExact(input);
}
PyRef as_tensor(PyObject* number) {
  return PyRef(torch_api::number_tensor(PyFloat_AS_DOUBLE(number)));
}

}  // namespace

namespace {

void each_recipe(Trace& trace, const std::function<void(Recipe&)>& f) {
  f(trace.result);
  for (auto& [slot, recipe] : trace.locals) f(recipe);
  for (Recipe& recipe : trace.stack) f(recipe);
  for (Recipe& recipe : trace.computed) f(recipe);
  for (Effect& effect : trace.effects)
    for (Recipe* recipe : {&effect.target, &effect.key, &effect.value}) f(*recipe);
}

// A class, a function or a module that is left behind is read like what the frame has: a segment does not
// keep it alive between its calls.
void read_from_lifeline(Recipe& recipe, SourcePool& sources) {
  for (Recipe& child : recipe.children) read_from_lifeline(child, sources);
  if (recipe.kind != Recipe::Kind::Constant || is_light(recipe.object)) return;
  recipe.kind = Recipe::Kind::Source;
  recipe.source =
      sources.make(SourceKind::Constant, nullptr, -1, Py_TYPE(recipe.object)->tp_name, recipe.object);
  Py_CLEAR(recipe.object);
}

}  // namespace

Result<std::unique_ptr<Segment>> Segment::make(std::unique_ptr<Trace> trace, const Frame& frame,
                                               const torch_api::GlobalState& state) {
  std::unique_ptr<Segment> s(new Segment);
  RecipeSources sources;
  each_recipe(*trace, [&](Recipe& recipe) { read_from_lifeline(recipe, *trace->sources); });
  for (const Source* input : trace->inputs) {
    if (!input) return Error{"An input of the graph has no source", "", ""};
    s->inputs_.push_back(sources.add(input));
    if (input->kind == SourceKind::Drawn) s->drawn_.push_back(s->inputs_.back());
    if (input->kind == SourceKind::Computed) s->computed_.emplace_back(s->inputs_.back(), input->index);
  }
  each_recipe(*trace, [&](Recipe& recipe) { sources.add(recipe); });
  s->changes_containers_ =
      std::any_of(trace->effects.begin(), trace->effects.end(), [](const Effect& effect) {
        return effect.kind == Effect::Kind::ListReplace || effect.kind == Effect::Kind::ListExtend ||
               effect.kind == Effect::Kind::DictReplace || effect.kind == Effect::Kind::SetReplace;
      });
  AskedNames asked = std::move(trace->asked);
  for (PyObject* code : trace->codes) add_names(code, asked);
  if (Status error =
          s->guards_.build(trace->guards, sources.all(), frame, state, s->lifeline_, std::move(asked)))
    return *error;
  for (Guard& guard : trace->guards)  // the tensors of the first call must not live on
    if (guard.kind == GuardKind::TensorMatch) Py_CLEAR(guard.object);
  trace->guards.shrink_to_fit();
  for (const Source* source : sources.all()) s->nodes_.push_back(s->guards_.node_of(source));
  if (trace->graphs.captured) {
    const size_t constants = trace->graphs.constants.size(), named = s->inputs_.size();
    const size_t captured = trace->graphs.captured->inputs().size();
    if (captured < named || captured > named + constants ||
        trace->graphs.aten->inputs().size() != named + constants)
      return Error{"The graph has " + std::to_string(captured) + " inputs, the trace names " +
                       std::to_string(named) + " and " + std::to_string(constants) + " constants",
                   "", ""};
  }
  if (trace->symbolic && !s->guards_.read_sizes(trace->symbolic->inputs, s->call_.key, s->call_.apart))
    return Error{"An int of the first call cannot be read again", "", ""};
  if (trace->symbolic) s->sizes_ = runtime::new_size_memory();
  s->now_ = first_instance(*trace, s->call_);
  s->instances_.push_back(s->now_);
  if (!trace->codes.empty())
    s->name = text_of(reinterpret_cast<PyCodeObject*>(trace->codes.front())->co_qualname);
  s->trace_ = std::move(trace);
  s->find_freed(sources.all());
  return s;
}

Segment::~Segment() {
  lifeline_.cut();
}

// Alive, whatever else holds it, until it is done.
void Segment::bury() {
  if (place) place->bury(*this);
}

// Its code object has it, which must not have itself.
void Segment::let_go() {
  Trace& t = *trace_;
  for (Guard& guard : t.guards)
    if (guard.kind != GuardKind::ConstEquals) Py_CLEAR(guard.object);
  for (PyObject* key : t.sources->take_keys()) {
    lifeline_.hold(key);
    Py_DECREF(key);
  }
  t.steps = {};
  if (t.broke) t.broke->at = {};
  for (PyObject* code : std::exchange(t.codes, {})) Py_DECREF(code);
  lifeline_.settle();
}

Segment::Fit Segment::fits(const Frame& frame, const torch_api::GlobalState& state) {
  Fit fit = judge(frame, state);
  if (fit == Fit::New) fit = judge_new_sizes();
  if (fit == Fit::No || fit == Fit::Rare) forget_call();
  return fit;
}

Segment::Fit Segment::fits_as_planned(const Frame& frame, const torch_api::GlobalState& state) {
  const Fit fit = judge(frame, state);
  if (fit == Fit::No) forget_call();
  return fit;
}

Segment::Fit Segment::judge(const Frame& frame, const torch_api::GlobalState& state) {
  if (!guards_.check(frame, state)) return Fit::No;
  if (!trace_->symbolic) return Fit::Yes;
  if (!guards_.read_sizes(trace_->symbolic->inputs, call_.key, call_.apart)) return Fit::No;
  ready_ = nullptr;
  if (trace_->stands_in) return may_serve() ? Fit::Yes : Fit::No;  // its code serves all sizes
  if (!knows_sizes()) return Fit::New;
  return holds() ? Fit::Yes : Fit::No;
}

// The first region of autograd is made in Python, which a signal may end.
bool Segment::is_ready() {
  for (const std::shared_ptr<SymbolicGraph>& graph : symbolic_) {
    if (!graph->serves() || (graph->joint && !graph->region)) continue;
    ready_ = evaluated_instance(*trace_, graph, call_);
    if (ready_) ready_->plan = graph->forward.plans->at(ready_->numbers);
    if (ready_ && ready_->plan) return true;
  }
  ready_ = nullptr;
  return false;
}

Segment::Fit Segment::judge_new_sizes() {
  if (std::find(refused_.begin(), refused_.end(), call_.key) != refused_.end()) return Fit::No;
  if (!may_serve()) return Fit::No;
  for (const std::shared_ptr<SymbolicGraph>& graph : symbolic_)
    if (!ready_ && graph->serves() && graph->joint && !graph->region)
      ready_ = evaluated_instance(*trace_, graph, call_);
  return !ready_ && is_rare() ? Fit::Rare : Fit::New;
}

// Of the sizes of the check, where others are known only when it has run.
bool Segment::may_serve() const {
  std::vector<bool> known;
  const std::vector<int64_t> values = symbol_values(*trace_->symbolic, call_, known);
  return trace_->symbolic->table.may_hold(values, known) && has_backend_strides(values);
}

bool Segment::knows_sizes() {
  return now_->key == call_.key || choose_instance();
}

// Of the instance that is chosen: what is not among the sizes by which it was.
bool Segment::holds() const {
  return call_.apart.empty() || trace_->symbolic->table.holds(symbol_values(*trace_->symbolic, call_, *now_));
}

bool Segment::choose_instance() {
  const auto at = std::find_if(instances_.begin(), instances_.end(),
                               [&](const std::shared_ptr<Instance>& i) { return i->key == call_.key; });
  if (at == instances_.end()) return false;
  std::rotate(instances_.begin(), at, at + 1);
  now_ = instances_.front();
  return true;
}

// An instance that is recorded costs what many calls of eager's do. Where several sizes had to be recorded,
// others get an instance when they come again: those of ragged data may never do. When there are as many as
// are kept, sizes get one only in exchange for one that is used less often than they come: a cycle through
// more sizes than are kept must not make each of them again and again.
constexpr int64_t kRecordedAtOnce = 8;  // sizes that are recorded where they first come

bool Segment::is_rare() {
  if (backend_) return false;  // its instances have no code of their own
  const auto is_recorded = [](const std::shared_ptr<Instance>& i) { return !i->evaluated; };
  const bool is_full = instances_.size() >= kInstancesKept;
  if (!is_full && std::ranges::count_if(instances_, is_recorded) < kRecordedAtOnce) return false;
  const int64_t times = ++met_[call_.key];
  if (times > (is_full ? instances_.back()->uses : 0) + 1) {
    met_.erase(call_.key);
    return false;
  }
  if (met_.size() > kMeetingsCounted) {  // what was is forgotten
    met_.clear();
    for (auto& instance : instances_) instance->uses /= 2;
  }
  return true;
}

std::shared_ptr<Instance> Segment::make_instance() {
  if (ready_) return std::exchange(ready_, nullptr);
  std::vector<PyRef> alive;
  std::vector<PyObject*> inputs;
  for (int32_t i : inputs_) {
    PyRef value = input_at_rest(i);
    alive.push_back(is_float_input(value.get()) ? as_tensor(value.get()) : std::move(value));
    inputs.push_back(alive.back().get());
  }
  const CallSizes sizes = call_;
  NewInstance made = new_instance(*trace_, sizes, inputs, symbolic_);
  if (made.never) {
    if (refused_.size() >= kInstancesKept) refused_.erase(refused_.begin());
    refused_.push_back(sizes.key);
  }
  return std::move(made.instance);
}

void Segment::add_instance(std::shared_ptr<Instance> instance) {
  instances_.insert(instances_.begin(), std::move(instance));
  now_ = instances_.front();
  if (instances_.size() > kInstancesKept) instances_.pop_back();
}

namespace {

// "what it asks of sizes does not hold for these: s0 <= 8 (aten.narrow.default)"
std::string what_fails(const char* who, const ir::SymbolTable& table, std::span<const int64_t> values) {
  const std::string text = std::string("what ") + who + " asks of sizes does not hold for these";
  std::vector<bool> known(table.symbols().size(), false);  // strides are not, of what was recorded
  std::fill_n(known.begin(), values.size(), true);
  const ir::SymGuard* guard = table.first_failing(values, known);
  return guard ? text + ": " + table.text(*guard) + " (" + guard->place + ")" : text;
}

}  // namespace

std::pair<const char*, std::string> Segment::how_made(const Instance& instance) const {
  if (const SymbolicGraph* graph = instance.evaluated.get()) {
    if (!graph->forward.plans) return {"evaluated", graph->forward.why};
    if (graph->table.holds(instance.numbers)) return {"instantiated", ""};
    return {"evaluated", what_fails("its program", graph->table, instance.numbers)};
  }
  const bool first = instance.graphs.captured == trace_->graphs.captured;
  if (symbolic_.empty()) return {"compiled", ""};
  if (first) return {"compiled", symbolic_.front()->why};
  const SymbolicGraph& graph = *symbolic_.back();
  return {"recorded", !graph.why.empty() ? graph.why : what_fails("it", graph.table, instance.values)};
}

namespace {

// Of "s0 == 8".
std::string left_side(const std::string& text) {
  return text.substr(0, text.rfind(" == "));
}

// "(s0 + s1, s0: L['x'].size(0), s1: L['y'].size(0))"; of a symbol alone what it stands for.
std::string named(const ir::SymbolTable& table, const std::string& text) {
  std::string out = text;
  for (const ir::Symbol& symbol : table.symbols())
    if (text == symbol.name) return symbol.source;
  for (const ir::Symbol& symbol : table.symbols())
    if (text.find(symbol.name) != std::string::npos) out += ", " + symbol.name + ": " + symbol.source;
  return "(" + out + ")";
}

}  // namespace

GuardFailure Segment::explain(const Frame& frame, const torch_api::GlobalState& state) {
  GuardFailure out = find_failure(frame, state);
  guards_.drop_temporaries();
  return out;
}

GuardFailure Segment::find_failure(const Frame& frame, const torch_api::GlobalState& state) {
  if (!trace_->symbolic || !guards_.check(frame, state) ||
      !guards_.read_sizes(trace_->symbolic->inputs, call_.key, call_.apart))
    return guards_.explain(frame, state);
  const ir::SymbolTable& table = trace_->symbolic->table;
  std::vector<bool> known;
  const std::vector<int64_t> values = symbol_values(*trace_->symbolic, call_, known);
  for (size_t i = 0; i < values.size(); ++i) {
    const ir::Symbol& s = table.symbols()[i];
    if (known[i] && (values[i] < s.range.lo || values[i] > s.range.hi)) {
      const bool is_below = values[i] < s.range.lo;
      return {-1,
              named(table, s.name + (is_below ? " >= " : " <= ") +
                               std::to_string(is_below ? s.range.lo : s.range.hi)),
              "True", "False: it is " + std::to_string(values[i]),
              is_below && s.range.lo == 2
                  ? "Sizes 0 and 1 are compiled by themselves, for operators treat them in ways of their own."
                  : "The symbol was given this range: mark the size with the range that occurs."};
    }
  }
  if (const ir::SymGuard* guard = table.first_failing(values, known)) {
    const auto value = table.evaluate(*guard, values);
    const std::string now = value ? std::to_string(*value) : "no number";
    const std::string asked = named(table, table.text(*guard));
    const std::string what = asked.find(".size(") != std::string::npos ? "size" : "number";
    if (guard->relation == ir::SymRelation::Eq)
      return {-1, named(table, left_side(table.text(*guard))), std::to_string(guard->bound),
              now + " (fixed at " + guard->place + ")",
              "That line needs the " + what +
                  " itself, and each is compiled by itself: compute with it there, or "
                  "pass few different ones."};
    return {-1, asked, "True", "False: it is " + now + " (asked at " + guard->place + ")",
            "That line asks about the " + what + ": each answer is compiled by itself, once."};
  }
  return {-1, "what the program does with its sizes", "as at capture", "otherwise"};
}

std::vector<PyRef> Segment::read_inputs(const Frame& frame, const torch_api::GlobalState& state) {
  if (!guards_.check(frame, state)) return {};
  std::vector<PyRef> out;
  for (int32_t i : inputs_) {
    PyRef value = input_at_rest(i);
    out.push_back(is_float_input(value.get()) ? as_tensor(value.get()) : std::move(value));
  }
  return out;
}

void Segment::set_backend(BackendCode code, const BackendSizes& sizes) {
  backend_ = std::move(code.callable);
  if (!sizes.symbolic) return;
  backend_symbols_ = sizes.symbols;
  backend_strides_.resize(sizes.symbolic->inputs.size());
  for (size_t i = 0; i < code.strides.size(); ++i)
    if (sizes.inputs[i])
      backend_strides_[static_cast<size_t>(sizes.inputs[i] - sizes.symbolic->inputs.data())] =
          std::move(code.strides[i]);
}

void Segment::set_pieces(PyRef pieces, const BackendSizes& sizes) {
  trace_->speculates = true;  // it says so where it does not serve a call
  backend_ = std::move(pieces);
  backend_symbols_ = sizes.symbols;
}

bool Segment::has_backend_strides(const std::vector<int64_t>& values) const {
  size_t at = 0;
  for (size_t i = 0; i < backend_strides_.size(); ++i) {
    const Symbolic::Input& input = trace_->symbolic->inputs[i];
    const std::vector<ir::Sym>& strides = backend_strides_[i];
    for (size_t d = 0; d < strides.size(); ++d)
      if (trace_->symbolic->table.evaluate(strides[d], values) != call_.key.at(at + strides.size() + d))
        return false;
    if (input.is_tensor)
      at += 2 * input.symbols.size();
    else
      at += input.in_graph ? 1 : 0;
  }
  return true;
}

// Floats that come of the sizes of this call. false: they give none now, or Python raises.
bool Segment::compute_floats(std::span<PyRef> sources, std::span<const PyRef> integers) const {
  Ingredients from{{}, sources, integers, {}};
  for (const auto& [ordinal, index] : computed_) {
    PyRef number;
    const bool made = make_value(trace_->computed[static_cast<size_t>(index)], from, number);
    if (!made || !number || !PyFloat_CheckExact(number.get())) return PyErr_Clear(), false;
    sources[static_cast<size_t>(ordinal)] = std::move(number);
  }
  return true;
}

// As the guards have read it; of a random or computed number some number, so that none is drawn.
PyRef Segment::input_at_rest(int32_t ordinal) {
  const bool drawn =
      std::find(drawn_.begin(), drawn_.end(), ordinal) != drawn_.end() ||
      std::any_of(computed_.begin(), computed_.end(), [&](const auto& c) { return c.first == ordinal; });
  return drawn ? PyRef(PyFloat_FromDouble(kSomeDraw)) : share(guards_.value(nodes_[ordinal]));
}

void Segment::add_break_ns(int64_t ns) {
  if (break_ns_.size() < kBreaksKept)
    break_ns_.push_back(ns);
  else
    break_ns_[next_break_++ % kBreaksKept] = ns;
}

double Segment::median_break_ns() const {
  std::vector<int64_t> sorted = break_ns_;
  if (sorted.empty()) return 0;
  std::sort(sorted.begin(), sorted.end());
  return static_cast<double>(sorted[sorted.size() / 2]);
}

bool Segment::add_inputs(std::span<const PyRef> sources, std::vector<PyObject*>& inputs,
                         std::vector<PyRef>& numbers) const {
  for (int32_t i : inputs_) {
    PyObject* input = sources[static_cast<size_t>(i)].get();
    if (is_float_input(input)) input = numbers.emplace_back(as_tensor(input)).get();
    if (!input) return false;
    inputs.push_back(input);
  }
  return true;
}

bool Segment::add_backend_inputs(std::span<const PyRef> sources, const std::vector<int64_t>& values,
                                 std::vector<PyObject*>& inputs, std::vector<PyRef>& numbers) const {
  numbers.reserve(backend_symbols_.size() + inputs_.size());
  for (int32_t symbol : backend_symbols_)
    inputs.push_back(numbers.emplace_back(PyLong_FromLongLong(values.at(static_cast<size_t>(symbol)))).get());
  return add_inputs(sources, inputs, numbers);
}

// What the user's own code raises is the user's. Modes that it leaves on are not: those of the program
// follow.
SegmentOutcome Segment::run_backend(std::span<const PyRef> sources, const std::vector<int64_t>& values,
                                    std::vector<PyObject*>& results) {
  std::vector<PyObject*> inputs;
  std::vector<PyRef> numbers;
  if (!add_backend_inputs(sources, values, inputs, numbers)) return SegmentOutcome::raised();
  const size_t expected = trace_->graphs.captured->results().size();
  const torch_api::ModesAsBefore modes;
  if (run_by_backend(backend_.get(), inputs, expected, results)) return SegmentOutcome::ran();
  return is_refuted() ? failed() : SegmentOutcome::raised();
}

// Whether pieces that have failed leave behind what they wrote (vitrine._pieces.Writing).
static bool has_written() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const bool written = value && PyObject_HasAttrString(value, "vitrine_has_written");
  PyErr_Restore(type, value, trace);
  return written;
}

// Sizes that depend on data are known when it has run. What the program concluded from those that stood in
// for them may not hold then: nothing was written, or it is taken back, and eager runs the call.
SegmentOutcome Segment::run_pieces(std::span<const PyRef> sources, std::vector<int64_t>& values,
                                   std::vector<PyObject*>& results) {
  std::vector<PyObject*> inputs;
  std::vector<PyRef> numbers;
  std::vector<bool> known;
  values = symbol_values(*trace_->symbolic, call_, known);
  if (!add_backend_inputs(sources, values, inputs, numbers)) return SegmentOutcome::raised();
  RandomState random(trace_->graph_effects.random);
  {
    const torch_api::ModesAsBefore modes;
    const size_t expected = trace_->graphs.captured->results().size();
    const bool ran = run_in_pieces(backend_.get(), inputs, *trace_->symbolic, expected, values, results);
    if (ran && trace_->symbolic->table.holds(values)) return SegmentOutcome::ran();
    refuted = refuted || ran;
    if (ran) PyErr_SetString(PyExc_RuntimeError, kSpeculated);
  }
  if (has_written()) return SegmentOutcome::raised();
  const SegmentOutcome outcome = failed();
  const ErrorAside aside;
  for (PyObject* o : std::exchange(results, {})) Py_DECREF(o);
  random.restore();
  return outcome;
}

SegmentOutcome Segment::run_graph(Instance& instance, std::span<const PyRef> sources,
                                  std::vector<PyObject*>& results, std::vector<runtime::LaunchTime>* times,
                                  Check* check) {
  std::vector<PyObject*> inputs;
  const torch_api::Lowering::Graphs& graphs = instance.graphs;
  const std::shared_ptr<runtime::Plan> plan = instance.plan;  // alive, whatever its run does
  inputs.reserve(inputs_.size() + graphs.constants.size());
  std::vector<PyRef> numbers;
  if (!add_inputs(sources, inputs, numbers)) return SegmentOutcome::raised();
  inputs.insert(inputs.end(), graphs.constants.begin(), graphs.constants.end());
  // Its constants come first among them.
  const auto captured = [&] { return static_cast<long>(graphs.captured->inputs().size()); };
  if (plan && check) {
    const CheckedCall call{*plan,   instance.replayer(),
                           *trace_, graphs.views.get(),
                           inputs,  {inputs.begin(), inputs.begin() + captured()}};
    switch (run_checked(call, results, *check)) {
      case Checked::Ran:
        check->compared = true;
        return use_up(*trace_, inputs, results) ? SegmentOutcome::ran() : SegmentOutcome::raised();
      case Checked::Raised:
        return is_refuted() ? failed() : SegmentOutcome::raised();
      case Checked::Failed:
        ++failures;
        return SegmentOutcome::none();
      case Checked::Impossible:
        break;
    }
  }
  if (plan) {
    if (run_plan(*plan, *trace_, inputs, results, times))
      return finish_results(*trace_, graphs.views.get(), inputs, results) ? SegmentOutcome::ran()
                                                                          : SegmentOutcome::raised();
    return failed();
  }
  if (instance.training) {
    inputs.resize(inputs_.size());
    return run_training(instance, inputs, results);
  }
  inputs.resize(static_cast<size_t>(captured()));
  return replay(instance, inputs, results);
}

// A gradient that the segment needs itself stays where it is.
void Segment::find_freed(const std::vector<const Source*>& sources) {
  const auto is_read = [&](const Source* tensor) {
    return std::any_of(sources.begin(), sources.end(), [&](const Source* s) {
      return s->kind == SourceKind::Attr && s->name == "grad" && s->base == tensor;
    });
  };
  for (const Effect& effect : trace_->effects)
    if (effect.frees_first && effect.kind == Effect::Kind::SetAttr &&
        effect.target.kind == Recipe::Kind::Source && !is_read(effect.target.source))
      freed_.push_back(effect.target.index);
}

// As the program does: gradients of the last step go before this one needs memory. Where the graph fails,
// eager finds them gone, and goes on as if it had done that.
void Segment::free_gradients(std::span<const PyRef> sources) {
  for (int32_t i : freed_)
    if (PyObject_SetAttrString(sources[static_cast<size_t>(i)].get(), "grad", Py_None) < 0) PyErr_Clear();
}

// The error that is set says that the program takes a way which it was taken not to take. Nothing was written
// before that check.
bool Segment::is_refuted() const {
  if (!trace_->speculates || !PyErr_ExceptionMatches(PyExc_RuntimeError)) return false;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const PyRef text(value ? PyObject_Str(value) : nullptr);
  const bool is = text && text_of(text.get()).starts_with(kSpeculated);
  PyErr_Restore(type, value, traceback);
  return is;
}

// Nothing was written: eager raises it again, at the line it belongs to. What a signal's handler has raised
// would not come again.
SegmentOutcome Segment::failed() {
  refuted = refuted || is_refuted();
  if (is_of_signal() && !raise_soon()) return SegmentOutcome::raised();
  PyErr_Clear();
  ++failures;
  return SegmentOutcome::none();
}

// A forward plan that fails has written nothing. What fails behind it may have been preceded by writes.
SegmentOutcome Segment::run_training(Instance& instance, const std::vector<PyObject*>& inputs,
                                     std::vector<PyObject*>& results) {
  if (run_by_backend(instance.training.get(), inputs, instance.graphs.captured->results().size(), results))
    return SegmentOutcome::ran();
  if (trace_->graph_effects.writes_inputs && forward_ran(instance.training.get()))
    return SegmentOutcome::raised();
  {
    const ErrorAside aside;  // dropping a tensor may run Python
    for (PyObject* o : results) Py_DECREF(o);
    results.clear();
  }
  return failed();
}

SegmentOutcome Segment::replay(Instance& instance, const std::vector<PyObject*>& inputs,
                               std::vector<PyObject*>& results) {
  RandomState random(trace_->graph_effects.random);
  if (instance.replayer().run(inputs, results)) return SegmentOutcome::ran();
  if (trace_->graph_effects.writes_inputs && !is_refuted()) return SegmentOutcome::raised();
  const SegmentOutcome outcome = failed();
  const ErrorAside aside;
  random.restore();
  return outcome;
}

SegmentOutcome Segment::run_stand_ins(Frame& frame, std::span<PyRef> sources,
                                      std::vector<PyObject*>& results) {
  PythonDraws draws;
  if (!drawn_.empty() && !draws.make(sources, drawn_)) return SegmentOutcome::none();
  std::vector<int64_t> values;
  std::vector<PyRef> integers;
  const SegmentOutcome outcome = run_pieces(sources, values, results);
  if (outcome.kind == SegmentOutcome::Kind::None) draws.take_back();
  if (outcome.kind == SegmentOutcome::Kind::Ran)
    trace_->prepared.keep();
  else if (outcome.kind == SegmentOutcome::Kind::None)
    trace_->prepared.take_back();
  if (outcome.kind != SegmentOutcome::Kind::Ran) return outcome;
  if (!make_integers(*trace_->symbolic, values, integers)) return SegmentOutcome::none();
  Ingredients from{results, sources, integers, {}};
  return commit(frame, from);
}

SegmentOutcome Segment::run(Frame& frame, std::vector<runtime::LaunchTime>* times, Check* check) {
  if (trace_->end == Trace::End::Nothing)
    return trace_->broke ? SegmentOutcome::none() : SegmentOutcome::eager();
  Sources sources(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) sources[i] = share(guards_.value(nodes_[i]));
  guards_.drop_temporaries();
  Results results;
  const std::shared_ptr<Instance> instance = now_;  // another call may choose another meanwhile
  std::vector<PyRef> integers;                      // where they are others than the instance's
  const bool own = !call_.apart.empty();
  ++instance->uses;
  std::vector<int64_t> values;
  if (trace_->stands_in) return run_stand_ins(frame, sources.all(), results.all);
  if (own)
    values = symbol_values(*trace_->symbolic, call_, *instance);
  else if (backend_)
    values = instance->values;
  if (own && !make_integers(*trace_->symbolic, values, integers)) return SegmentOutcome::none();
  if (!compute_floats(sources.all(), own ? integers : instance->integers)) return SegmentOutcome::none();
  PythonDraws draws;
  if (!drawn_.empty() && !draws.make(sources.all(), drawn_)) return SegmentOutcome::none();
  if (!freed_.empty() && !check) free_gradients(sources.all());
  if (instance->has_graph()) {
    SegmentOutcome outcome = backend_ ? run_backend(sources.all(), values, results.all)
                                      : run_graph(*instance, sources.all(), results.all, times, check);
    if (outcome.kind == SegmentOutcome::Kind::None) draws.take_back();
    if (outcome.kind == SegmentOutcome::Kind::None) trace_->prepared.take_back();
    if (outcome.kind != SegmentOutcome::Kind::Ran) return outcome;
  }
  trace_->prepared.keep();
  Ingredients from{results.all, sources.all(), own ? integers : instance->integers, {}};
  return commit(frame, from);
}

}  // namespace vitrine::capture
