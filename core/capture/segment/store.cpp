#include "core/capture/segment/store.h"

#include <algorithm>

#include "core/capture/marks.h"
#include "core/capture/objects/torch_names.h"
#include "core/capture/objects/values.h"
#include "core/capture/segment/code_rows.h"
#include "core/capture/segment/controls/refusals.h"
#include "core/capture/segment/observer.h"
#include "core/capture/signals_aside.h"
#include "core/capture/trace/break_kinds.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/profiled_range.h"

namespace vitrine::capture {

namespace {

std::string name_of(const Frame& frame) {
  return text_of(reinterpret_cast<PyCodeObject*>(frame.code())->co_qualname);
}

// "file:line" of the user's code that called the frame that runs now, through whatever of PyTorch's stands
// between;
// "" when nothing of the user's did.
std::string call_site() {
  PyFrameObject* current = PyEval_GetFrame();
  PyRef at(current ? reinterpret_cast<PyObject*>(PyFrame_GetBack(current)) : nullptr);
  while (at) {
    auto* frame = reinterpret_cast<PyFrameObject*>(at.get());
    PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    const std::string path = text_of(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
    if (is_user_file(path)) return path + ":" + std::to_string(PyFrame_GetLineNumber(frame));
    at = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
  }
  return "";
}

bool holds_tensor(PyObject* o, int depth) {
  if (!o) return false;
  const TorchNames& torch = torch_names();
  if (PyType_IsSubtype(Py_TYPE(o), torch.tensor_base) || torch.is_module(Py_TYPE(o))) return true;
  if (depth == 0) return false;
  if (PyCell_Check(o)) return holds_tensor(PyCell_GET(o), depth);
  if (!PyTuple_Check(o) && !PyList_Check(o) && !PyDict_Check(o)) return false;
  const PyRef items(PyDict_Check(o) ? PyDict_Values(o) : PySequence_List(o));
  if (!items) PyErr_Clear();
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i)
    if (holds_tensor(PyList_GET_ITEM(items.get(), i), depth - 1)) return true;
  return false;
}

// Whether there may be something to compile in a frame.
bool holds_tensors(const Frame& frame) {
  constexpr int kDepth = 4;
  for (int slot = 0; slot < frame.local_count(); ++slot)
    if (holds_tensor(frame.local(slot), kDepth)) return true;
  return false;
}

}  // namespace

Store::Store(Engine& engine, CallSettingsPtr settings)
    : engine_(engine), settings_(std::move(settings)), number_(engine.number_of(settings_)) {}

CodeSegments& Store::segments_of(PyObject* code) {
  CodeEntry& entry = entry_of(code);
  if (!entry.data) entry.data = std::make_unique<CodeSegments>(engine_);
  return static_cast<CodeSegments&>(*entry.data);
}

SegmentOutcome Store::at(Frame& frame) {
  CodeSegments& code = segments_of(frame.code());
  Place& place = code.place(frame.pc(), frame.depth());
  if (SessionRecording* recording = engine_.live_recording())
    recording->frame_asks(frame, code.begins_at(place));
  if (place.tracing || capture_is_off()) return SegmentOutcome::none();
  if (place.eager && place.segments.empty())
    return place.eager_rest ? SegmentOutcome::eager() : SegmentOutcome::none();
  try {
    return look_up(frame, code, place);
  } catch (const std::exception& error) {
    return give_up(frame, place, error.what());
  } catch (...) {
    return give_up(frame, place, "an unknown error");
  }
}

SegmentOutcome Store::give_up(Frame& frame, Place& place, const char* why) {
  PyErr_Clear();
  place.eager = true;
  engine_.warn("an error inside Vitrine; " + place_text(frame) + " runs eagerly.", "Please report it.", why,
               0);
  return SegmentOutcome::none();
}

// What is planned for a call's sizes comes before what could be: a loop whose last batch was smaller goes on
// with what was compiled for the others.
SegmentOutcome Store::look_up(Frame& frame, CodeSegments& code, Place& place) {
  const torch_api::GlobalState state = torch_api::global_state();
  std::vector<std::shared_ptr<Segment>>& all = place.segments;
  std::vector<std::shared_ptr<Segment>> for_other_sizes;
  std::optional<torch_api::ProfiledRange> guards;
  if (torch_api::is_profiled()) guards.emplace("Vitrine Guards: " + name_of(frame));
  place.bring_forward(frame);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]->settings != number_) continue;
    const std::shared_ptr<Segment> segment = all[i];  // alive, whatever its run does
    const Segment::Fit fit = segment->fits_as_planned(frame, state);
    if (fit == Segment::Fit::New) for_other_sizes.push_back(segment);
    if (fit != Segment::Fit::Yes) continue;
    for (const auto& other : for_other_sizes) other->forget_call();
    guards.reset();
    return enter_fitting(frame, place, segment, "hit");
  }
  guards.reset();
  std::shared_ptr<Segment> ready;
  for (const auto& segment : for_other_sizes)
    if (!ready && segment->is_ready())
      ready = segment;
    else
      segment->forget_call();
  if (ready) return enter_ready(frame, place, ready);
  return look_up_new_sizes(frame, code, place, state, for_other_sizes);
}

// Numbers are put into what is compiled: nothing is traced, and no code of anyone's runs.
SegmentOutcome Store::enter_ready(Frame& frame, Place& place, const std::shared_ptr<Segment>& segment) {
  const SessionRecording* recording = engine_.live_recording();
  const int64_t start = recording ? recording->now() : -1;
  std::shared_ptr<Instance> instance = segment->make_instance();
  if (instance->joint) {
    BackwardOrigin origin;
    origin.forward.id = segment->compilation;
    if (place_plan(*segment, *instance, std::exchange(instance->plan, nullptr),
                   options_for(*segment, *instance), std::move(origin)))
      return SegmentOutcome::none();
  }
  segment->add_instance(std::move(instance));
  return enter_fitting(frame, place, segment, "sizes", start);
}

SegmentOutcome Store::look_up_new_sizes(Frame& frame, CodeSegments& code, Place& place,
                                        const torch_api::GlobalState& state,
                                        const std::vector<std::shared_ptr<Segment>>& candidates) {
  for (const std::shared_ptr<Segment>& segment : candidates) {
    const Segment::Fit fit = segment->fits(frame, state);
    SessionRecording* recording = engine_.live_recording();
    if (fit == Segment::Fit::Rare) {
      if (recording) recording->call(segment->compilation, "eager", recording->now(), 0);
      return SegmentOutcome::eager_throughout();
    }
    if (fit == Segment::Fit::No) continue;
    const bool known = fit == Segment::Fit::Yes;  // by now: another thread has planned for them
    const int64_t start = recording && !known ? recording->now() : -1;
    const bool extended = !known && extend(*segment, place);
    if (PyErr_Occurred()) return SegmentOutcome::raised();  // a signal's handler
    if (known || (extended && segment->fits(frame, state) == Segment::Fit::Yes))
      return enter_fitting(frame, place, segment, known ? "hit" : "sizes", start);
  }
  return miss(frame, code, place, state);
}

SegmentOutcome Store::enter_fitting(Frame& frame, Place& place, const std::shared_ptr<Segment>& segment,
                                    const char* how, int64_t start) {
  // Where it stands now: making an instance may have let other threads run.
  std::vector<std::shared_ptr<Segment>>& all = place.segments;
  const auto at = std::find(all.begin(), all.end(), segment);
  if (at != all.end()) std::rotate(all.begin(), at, at + 1);
  return entered(place, segment, enter(frame, segment, how, start));
}

void Store::did_not_raise() {
  raise_graph_break(awaited_);
}

bool Store::breaks_full_graph(const Trace& trace) const {
  return trace.broke && (settings_->fullgraph || trace.broke->is_error.value_or(false)) &&
         trace.end != Trace::End::Return;
}

// Whether it was compiled for a GPU that need not be here, and whole: it is not captured again in parts.
bool Store::only_compiled(const Segment& segment, const SegmentOutcome& outcome) const {
  return !settings_->target.empty() && outcome.kind == SegmentOutcome::Kind::None &&
         segment.trace().end == Trace::End::Return;
}

SegmentOutcome Store::enter(Frame& frame, const std::shared_ptr<Segment>& segment, const char* how,
                            int64_t compile_start) {
  const bool first = ++segment->calls == 1;
  SessionRecording* recording = engine_.live_recording();
  // A block around the call is heeded by what is compiled in it, as torch.compile has it.
  const bool in_block = first && segment->trace().broke && !segment->trace().broke->is_error &&
                        segment->trace().end != Trace::End::Return && in_block_of_errors();
  if (in_block || breaks_full_graph(segment->trace())) {
    if (first && segment->trace().fills_caches) {
      if (recording) recording->call(segment->compilation, "eager", recording->now(), 0);
      return SegmentOutcome::eager_throughout();
    }
    // Captured without fullgraph, which ends where it need not: it is one graph to PyTorch's autograd.
    if (segment->trace().broke->kind == kUpdateBreak) return SegmentOutcome::eager_throughout();
    if (segment->trace().broke->kind == kExceptionBreak) {  // what the program raises is no break
      awaited_ = *segment->trace().broke;
      return SegmentOutcome::eager_until_raised();
    }
    if (in_block) segment->calls = 0;  // outside of the block it is as good as new
    raise_graph_break(*segment->trace().broke);
    return SegmentOutcome::raised();
  }
  std::optional<torch_api::ProfiledRange> range;
  if (torch_api::is_profiled()) range.emplace("Vitrine-Compiled Region: " + segment->name);
  const bool checked = engine_.config.check && segment->plan();
  if (!recording && !engine_.profiling() && !checked) {
    const SegmentOutcome outcome = segment->run(frame, nullptr);
    return only_compiled(*segment, outcome) ? SegmentOutcome::eager_throughout() : outcome;
  }
  const int64_t start = !recording ? 0 : compile_start >= 0 ? compile_start : recording->now();
  const int64_t instance = recording ? recording->instance(*segment) : 0;
  std::vector<runtime::LaunchTime> times;
  Check check;
  if (checked) check.cache_dir = engine_.config.cache_dir;
  SegmentOutcome outcome =
      segment->run(frame, engine_.profiles(segment->compilation, segment->plan()) ? &times : nullptr,
                   checked ? &check : nullptr);
  if (only_compiled(*segment, outcome)) outcome = SegmentOutcome::eager_throughout();
  segment->checked += check.compared;
  report(frame, *segment, check);
  engine_.note_launches(segment->compilation, times);
  if (!recording) return outcome;
  const bool eager = outcome.kind == SegmentOutcome::Kind::None;
  recording->call(segment->compilation, eager ? "eager" : how, start, recording->now() - start, instance);
  if (segment->trace().broke && (eager || outcome.kind == SegmentOutcome::Kind::Ran))
    recording->break_begins(frame, segment, std::string_view(how) == "hit");
  return outcome;
}

void Store::report(Frame& frame, Segment& segment, const Check& check) {
  if (check.text.empty()) return;
  segment.set_plan(nullptr);  // from now on through PyTorch
  engine_.differences.push_back({segment.compilation, check.text, check.reproducer});
  ErrorAside aside;
  engine_.warn(
      place_text(frame) + ": " + check.text,
      engine_.config.edited
          ? "Eager's result is used. The text of a kernel was edited: mend it, or leave --edited out."
          : "Eager's result is used; please report it.",
      check.reproducer.empty() ? "" : "reproducer: " + check.reproducer, segment.compilation);
}

// What the segment took for granted does not hold: the place does without from now on. Where a break is an
// error, such a call is eager's, and others go on as before.
SegmentOutcome Store::entered(Place& place, const std::shared_ptr<Segment>& segment, SegmentOutcome outcome) {
  // What fills a cache is not called again like that: it is not worth a capture of its own.
  outcome.plain_call = segment->trace().fills_caches;
  if (!segment->refuted || outcome.kind != SegmentOutcome::Kind::None) return outcome;
  if (settings_->fullgraph) return SegmentOutcome::eager_throughout();
  place.speculates = false;
  place.take([&](const auto& s) { return s == segment; });
  return outcome;
}

std::shared_ptr<Segment> Store::newest(const Place& place) const {
  for (const auto& s : place.segments)
    if (s->settings == number_) return s;
  return nullptr;
}

bool Store::limited(Frame& frame, const CodeSegments& code, const Place& place,
                    const torch_api::GlobalState& state) {
  const int64_t of_place = settings_->recompile_limit
                               ? settings_->recompile_limit
                               : told_.recompile_limit.value_or(engine_.config.recompile_limit);
  const int64_t of_code =
      told_.accumulated_recompile_limit.value_or(engine_.config.accumulated_recompile_limit);
  const bool here = place.compilations(number_, frame) >= of_place;
  if (!here && code.compilations < of_code) return false;
  const bool captured =
      std::any_of(place.segments.begin(), place.segments.end(), [](const auto& s) { return s->has_graph(); });
  if (!captured) return true;  // nothing was ever compiled here: there is nothing to tell
  const int64_t limit = here ? of_place : of_code;
  const std::string text = place_text(frame) + " was compiled " + std::to_string(limit) + " times";
  const std::shared_ptr<Segment> previous = newest(place);
  const std::string why =
      previous ? recompilation_hint(cause_of(frame, code, place, *previous, state)) + " Or raise" : "Raise";
  const std::string hint =
      why + " vitrine.config." + std::string(here ? "recompile_limit." : "accumulated_recompile_limit.");
  if (settings_->fullgraph || told_.fail_on_recompile_limit_hit) {
    raise_recompile_limit(text, hint,
                          settings_->fullgraph ? "fullgraph=True" : "fail_on_recompile_limit_hit");
  } else {
    engine_.warn(text + "; new cases run eagerly.", hint, "", 0);
  }
  return true;
}

// Notes what the arguments of a frame are, as a compilation does. Those that the settings name are noted as
// others than they are, which makes them symbols.
void Store::note_arguments(const Frame& frame, SizeHistory& seen) const {
  const auto* code = reinterpret_cast<PyCodeObject*>(frame.code());
  for (int slot = 0; slot < frame.local_count(); ++slot) {
    PyObject* value = frame.local(slot);
    const std::string name = text_of(PyTuple_GET_ITEM(code->co_localsplusnames, slot));
    const auto symbols = settings_->symbols.find(name);
    const bool named = symbols != settings_->symbols.end();
    int overflow = 0;
    if (value && PyLong_CheckExact(value)) {
      const int64_t n = PyLong_AsLongLongAndOverflow(value, &overflow);
      if (!overflow) seen.note("L['" + name + "'] int", {named ? kBeforeTheFirst : n});
    } else if (value && torch_api::is_tensor(value)) {
      const torch_api::TensorView view = torch_api::view(torch_api::handle_of(value));
      std::vector<int64_t> sizes(view.sizes, view.sizes + view.ndim);
      for (const int64_t d : named ? symbols->second : std::vector<int64_t>())
        if (d >= 0 && d < view.ndim) sizes[static_cast<size_t>(d)] = kBeforeTheFirst;
      seen.note("L['" + name + "']", sizes);
    }
  }
}

// Whether a place was never asked for before. By what is noted then, the second call shows what changes.
bool Store::is_first_example(const Frame& frame, Place& place) const {
  const auto [seen, first] = place.sizes.try_emplace(number_);
  if (!first || newest(place)) return false;
  note_arguments(frame, seen->second);
  return true;
}

std::optional<SegmentOutcome> Store::held_back(Frame& frame, Place& place,
                                               const torch_api::GlobalState& state) {
  const Stance stance = engine_.controls.stance();
  if (stance == Stance::EagerOnRecompile) return SegmentOutcome::eager();
  if (stance == Stance::EagerThenCompile && is_first_example(frame, place)) return SegmentOutcome::eager();
  if (stance != Stance::FailOnRecompile) return {};
  const std::shared_ptr<Segment> previous = newest(place);
  const bool known = previous != nullptr;
  const CodeEntry* entry = find_entry(frame.code());
  if (!known && !(entry && entry->chosen) && !holds_tensors(frame)) return SegmentOutcome::none();
  raise_recompile(frame, known ? previous->explain(frame, state).text() : "");
  return SegmentOutcome::raised();
}

RecompilationCause Store::cause_of(Frame& frame, const CodeSegments& code, const Place& place,
                                   Segment& previous, const torch_api::GlobalState& state) const {
  RecompilationCause out;
  out.failure = previous.explain(frame, state);
  out.dynamic = settings_->dynamic;
  out.is_behind_break = !code.begins_at(place);
  const auto* function = reinterpret_cast<PyCodeObject*>(frame.code());
  out.arguments = function->co_argcount + function->co_kwonlyargcount;
  if (function->co_flags & CO_VARARGS) out.varargs = out.arguments++;
  if (function->co_flags & CO_VARKEYWORDS) ++out.arguments;
  const std::vector<Guard>& guards = previous.trace().guards;
  const auto at = static_cast<size_t>(out.failure.guard);
  if (out.failure.guard < 0 || at >= guards.size()) return out;
  out.guard = &guards[at];
  if (out.guard->kind != GuardKind::ConstEquals || !out.guard->source) return out;
  const std::string path = out.guard->source->path();
  const auto asks = [&](const Guard& g) {
    return g.kind == GuardKind::ConstEquals && g.source && g.source->path() == path;
  };
  for (const auto& other : place.segments)
    if (other.get() != &previous && other->settings == number_)
      out.asked_before |= std::any_of(other->trace().guards.begin(), other->trace().guards.end(), asks);
  return out;
}

std::optional<SegmentOutcome> Store::refused(Frame& frame, const CodeSegments& code, const Place& place,
                                             const torch_api::GlobalState& state) {
  if (told_.disable) {
    if (!settings_->fullgraph || place.pc != code.places().front()->pc) return SegmentOutcome::eager();
    raise_no_frames(frame, "Dynamo tracing is disabled");
    return SegmentOutcome::raised();
  }
  if (limited(frame, code, place, state))
    return PyErr_Occurred()        ? SegmentOutcome::raised()
           : code.begins_at(place) ? SegmentOutcome::eager()
                                   : SegmentOutcome::none();
  const std::shared_ptr<Segment> previous = newest(place);
  if (previous && told_.error_on_recompile && previous->has_graph()) {
    raise_recompile_error(frame, previous->explain(frame, state).text());
    return SegmentOutcome::raised();
  }
  const std::vector<std::string> sentences = engine_.controls.not_followed();
  if (PyErr_Occurred()) return SegmentOutcome::raised();
  for (const std::string& sentence : sentences) engine_.warn(sentence, "", "", 0);
  return {};
}

SegmentOutcome Store::miss(Frame& frame, CodeSegments& code, Place& place,
                           const torch_api::GlobalState& state) {
  if (place.eager) return place.eager_rest ? SegmentOutcome::eager() : SegmentOutcome::none();
  if (std::string why = torch_api::unsupported_state(); !why.empty()) return SegmentOutcome::eager();
  if (const std::optional<SegmentOutcome> outcome = held_back(frame, place, state)) return *outcome;
  told_ = engine_.controls.settings();
  if (PyErr_Occurred()) return SegmentOutcome::raised();
  if (const std::optional<SegmentOutcome> outcome = refused(frame, code, place, state)) return *outcome;
  if (const auto [seen, first] = place.sizes.try_emplace(number_); first && !settings_->symbols.empty())
    note_arguments(frame, seen->second);
  const std::shared_ptr<Segment> previous = newest(place);
  SessionRecording* recording = engine_.live_recording();
  const int64_t start = recording ? recording->now() : 0;
  std::unique_ptr<CompilationRecord> record;
  if (recording) record = recording->begin(frame.code(), frame.pc(), frame.depth());
  if (previous && hears_recompilations(*settings_)) {
    auto* function = reinterpret_cast<PyCodeObject*>(frame.code());
    observe_recompilation(*settings_, function, function->co_firstlineno,
                          cause_of(frame, code, place, *previous, state));
  }
  if (record && previous) {
    const RecompilationCause cause = cause_of(frame, code, place, *previous, state);
    recording->recompilation(*record, previous->compilation, cause.failure, recompilation_hint(cause),
                             call_site());
  }
  if (const auto ended = place.ended.find(number_); record && !previous && ended != place.ended.end())
    recording->recompilation(*record, ended->second.compilation, ended->second.failure,
                             recompilation_hint({ended->second.failure}), call_site());
  place.ended.erase(number_);
  std::shared_ptr<Segment> segment;
  bool interrupted = false;
  {
    Tracing tracing(place);
    const SignalsAside signals;
    if (!signals.raised()) {
      engine_.controls.compilation_begins();
      segment = compile(frame, place, state, record.get());
      engine_.controls.compilation_ends(segment ? &segment->trace() : nullptr);
    }
    interrupted = signals.raised();
  }
  if (interrupted) return SegmentOutcome::raised();
  if (!segment)
    return PyErr_Occurred()   ? SegmentOutcome::raised()
           : place.eager_rest ? SegmentOutcome::eager()
                              : SegmentOutcome::none();
  ++code.compilations;
  segment->settings = number_;
  segment->owner = Owner::of(frame);
  if (record) recording->watch(*record, segment, segment->guards().measure(frame, torch_api::global_state()));
  segment->let_go();
  if (!segment->is_over()) place.add(segment);
  // Compiling may have let other threads run.
  if (!segment->check(frame, torch_api::global_state())) return SegmentOutcome::none();
  return entered(place, segment, enter(frame, segment, "compile", start));
}

}  // namespace vitrine::capture
