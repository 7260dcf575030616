// From a frame to a new segment: trace, guards, plan, and the record of all of it.
#include "core/autograd/joint.h"
#include "core/base/clock.h"
#include "core/capture/interpreter/state/signals.h"
#include "core/capture/segment/fx_graph.h"
#include "core/capture/segment/instance.h"
#include "core/capture/segment/marked_sizes.h"
#include "core/capture/segment/observer.h"
#include "core/capture/segment/store.h"
#include "core/capture/segment/training.h"
#include "core/capture/segment/version_questions.h"
#include "core/capture/signals_aside.h"
#include "core/ir/print.h"
#include "core/runtime/reproducer_file.h"

namespace vitrine::capture {

namespace {

constexpr const char* kAsksForVersions = "the program asks for versions of tensors";

// A file with what it takes to see the failure again. Returns its path, "" when there is no place for it.
std::string write_reproducer(const std::string& cache_dir, const Trace& trace, const Error& error) {
  if (cache_dir.empty()) return "";
  std::string text =
      "error: " + error.what + "\n" + error.where + "\n\n" + ir::print(*trace.graphs.captured) + "\n";
  if (trace.graphs.aten) text += ir::print(*trace.graphs.aten) + "\n";
  return runtime::write_reproducer(cache_dir, "failed.txt", text);
}

void raise_mark_error(const MarkError& error) {
  PyErr_Clear();
  const PyRef named = find(Name::ConstraintViolationError);
  const PyRef type = named ? call(Name::caught_as_pytorchs, "O", named.get()) : PyRef();
  PyRef made(type ? PyObject_CallFunction(type.get(), "sss", error.source.c_str(), error.text.c_str(),
                                          error.place.c_str())
                  : nullptr);
  if (made) PyErr_SetObject(type.get(), made.get());
}

// The error that is set becomes what torch.compile makes of a backend's. One that ends the program stays.
void say_backend_failed(PyObject* backend) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  const PyRef made = call(Name::backend_failed, "OO", backend, value);
  if (!made) {
    PyErr_Clear();
    return PyErr_Restore(type, value, trace);
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.get())), made.get());
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

constexpr int kEmptySegments = 3;

// Whether enough segments without a graph were made here: another one would not help either, and what they
// look at (a number read from a tensor) may be another one each time.
bool is_barren(const Place& place) {
  int empty = 0;
  for (const auto& s : place.segments) empty += !s->has_graph() && s->trace().end != Trace::End::Return;
  return empty + 1 >= kEmptySegments;
}

void mark_eager(Place& place, const Trace& trace) {
  place.eager = true;
  place.eager_rest = !trace.broke;
}

// A size of the segment's inputs that is marked, and that its operators fix.
std::optional<MarkError> fixed_mark(Segment& segment, const Frame& frame, const torch_api::GlobalState& state,
                                    const std::string& target) {
  const auto& symbolic = segment.trace().symbolic;
  const auto is_enforced = [](const Symbolic::Origin& origin) { return origin.mark.enforced; };
  if (!symbolic || std::none_of(symbolic->origins.begin(), symbolic->origins.end(), is_enforced)) return {};
  const std::vector<PyRef> given = segment.read_inputs(frame, state);
  std::vector<PyObject*> inputs;
  for (const PyRef& one : given) inputs.push_back(one.get());
  std::optional<ir::Device> as_if;
  if (!target.empty()) as_if = ir::Device{ir::Device::Type::cuda, 0};
  return mark_fixed_by_operators(segment.trace(), inputs, as_if);
}

// What the process was told of sizes and numbers; what the callable was given comes first.
void obey(const CompilerSettings& told, const CallSettings& own, TraceOptions& options) {
  options.dynamic = own.dynamic;
  if (own.dynamic == DynamicMode::Automatic && !told.assume_static_by_default)
    options.dynamic = DynamicMode::Always;
  else if (own.dynamic == DynamicMode::Automatic && !told.automatic_dynamic_shapes)
    options.dynamic = DynamicMode::Never;
  options.ints_vary = !told.specialize_int;
  options.floats_vary = !told.specialize_float;
  options.marks_bind = !told.allow_ignore_mark_dynamic;
  options.data_shapes = told.capture_dynamic_output_shape_ops.value_or(true);
  options.reads_ints = told.capture_scalar_outputs.value_or(true);
}

}  // namespace

std::shared_ptr<Segment> Store::compile(Frame& frame, Place& place, const torch_api::GlobalState& state,
                                        CompilationRecord* record) {
  TraceOptions options;
  options.record_steps = record != nullptr;
  options.fullgraph = settings_->fullgraph;
  obey(told_, *settings_, options);
  options.gradients = settings_->gradients;
  // A backend of the user's own is given no backward pass.
  if (settings_->backend) options.backward_for_real = "the backend is given graphs that are differentiated";
  const bool versions = asks_for_versions();
  if (versions) options.backward_for_real = kAsksForVersions;
  options.speculates = place.speculates;
  options.checks_behind_writes = !settings_->backend && !settings_->replay && !engine_.config.check;
  // Without fullgraph what another backend is given ends at such sizes, as torch.compile's graph does.
  const bool foreign = settings_->backend || settings_->replay;
  options.stands_in = settings_->stands_in && ((place.speculates && !foreign) || settings_->fullgraph) &&
                      !versions && settings_->target.empty() && !engine_.config.check &&
                      (options.data_shapes || options.reads_ints);
  options.reads_floats = told_.capture_scalar_outputs.value_or(
      options.stands_in || (settings_->fullgraph && settings_->stands_in));
  options.is_piece = settings_->pieces;
  options.checks_on_gpu = !settings_->graphs();
  options.sizes = &place.sizes[number_];
  if (!settings_->target.empty()) options.as_if = ir::Device{ir::Device::Type::cuda, 0};
  options.target = settings_->target;
  SessionRecording* recording = engine_.live_recording();
  const int64_t start = monotonic_ns();
  std::unique_ptr<Trace> found;
  try {
    found = capture::trace(frame, options);
    if (versions && found && found->joint) found->joint.reset(), found->no_joint = kAsksForVersions;
    if (found && found->symbolic && found->end != Trace::End::Nothing)
      if (auto broken = found->symbolic->broken_mark()) throw *broken;
  } catch (const MarkError& error) {
    if (record) recording->finish(*record, nullptr, "failed", error.text);
    raise_mark_error(error);
    return nullptr;
  } catch (const InterruptSignal& interrupted) {
    if (record) recording->finish(*record, nullptr, "cancelled", "capture was interrupted");
    interrupted.error->restore();
    return nullptr;
  } catch (...) {
    if (record) recording->finish(*record, nullptr, "failed", "capture failed");
    throw;
  }
  PyErr_Clear();  // what the trace met, eager meets again
  VITRINE_CHECK(found != nullptr, "a trace must say how it ends");
  found->is_piece = settings_->pieces;
  if (record) recording->trace(*record, *found, start);
  const Trace& trace = *found;
  if (trace.end == Trace::End::Nothing && trace.broke && settings_->fullgraph)
    observe(*settings_, trace, "", monotonic_ns() - start, record ? record->row.id : 0);
  if (trace.end != Trace::End::Nothing || !trace.guards.empty())
    return build(std::move(found), frame, place, state, record, start);
  mark_eager(place, trace);
  observe(*settings_, trace, "", monotonic_ns() - start, record ? record->row.id : 0);
  if (record)
    recording->finish(*record, &trace, "eager", trace.broke ? trace.broke->reason : "nothing to compile");
  return nullptr;
}

std::shared_ptr<Segment> Store::build(std::unique_ptr<Trace> found, Frame& frame, Place& place,
                                      const torch_api::GlobalState& state, CompilationRecord* record,
                                      int64_t start) {
  SessionRecording* recording = engine_.live_recording();
  const bool nothing = found->end == Trace::End::Nothing;
  const bool rest = !found->broke;
  auto made = Segment::make(std::move(found), frame, state);
  if (!made) {
    place.eager = true;
    place.eager_rest = nothing && rest;
    if (!nothing)
      engine_.warn("a captured function could not be guarded and runs eagerly.", "Please report it.",
                   made.error().what, record ? record->row.id : 0);
    if (record) recording->finish(*record, nullptr, nothing ? "eager" : "failed", made.error().what);
    return nullptr;
  }
  std::shared_ptr<Segment> segment = made.take();
  if (auto broken = fixed_mark(*segment, frame, state, settings_->target)) {
    if (record) recording->finish(*record, &segment->trace(), "failed", broken->text);
    raise_mark_error(*broken);
    return nullptr;
  }
  std::string status = nothing ? "eager" : "no_graph", message;
  if (segment->has_graph() && segment->trace().stands_in) {
    give_pieces(*segment, record, message);
    status = "ok";
  } else if (segment->has_graph() && settings_->backend) {
    const torch_api::ObservedOperators seen(place.observed);  // the backend is the user's
    if (!give_backend(*segment, frame, state, record, message)) return nullptr;
    status = "ok";
  } else if (segment->has_graph()) {
    give_plan(*segment, segment->instance(), record, status, message);
    if (engine_.config.taker && !segment->trace().needs_grad) hand_out(*segment, frame, state);
  }
  if (record) {
    segment->compilation = record->row.id;
    if (message.empty() && nothing && segment->trace().broke) message = segment->trace().broke->reason;
    recording->finish(*record, &segment->trace(), status, message);
  }
  observe(*settings_, segment->trace(), message, monotonic_ns() - start, segment->compilation);
  if (!segment->has_graph() && segment->trace().end != Trace::End::Return && is_barren(place))
    place.eager = true;
  return segment;
}

// false: a Python error is set; it is the user's.
bool Store::give_backend(Segment& segment, const Frame& frame, const torch_api::GlobalState& state,
                         CompilationRecord* record, std::string& message) {
  const Trace& trace = segment.trace();
  const std::vector<PyRef> examples = segment.read_inputs(frame, state);
  VITRINE_CHECK(examples.size() == trace.inputs.size(), "a segment's inputs cannot be read again");
  const BackendSizes sizes = backend_sizes(trace);
  BackendCode code = compile_by_backend(settings_->backend.get(), trace, sizes, examples);
  message = "a backend of the user's own runs the captured graph";
  if (record) engine_.recording->not_compiled(*record, trace, message);
  const auto broken = code.callable && trace.symbolic ? trace.symbolic->broken_mark() : std::nullopt;
  if (code.callable && !broken) {
    segment.set_backend(std::move(code), sizes);
    return true;
  }
  if (broken) {
    if (record) engine_.recording->finish(*record, &trace, "failed", broken->text);
    raise_mark_error(*broken);
    return false;
  }
  if (told_.suppress_errors && PyErr_ExceptionMatches(PyExc_Exception)) {
    message = "the backend failed: the captured graph runs through PyTorch";
    engine_.warn("a backend failed; its graph runs through PyTorch.", "", torch_api::take_python_error(),
                 record ? record->row.id : 0);
    return true;
  }
  if (record) {
    ErrorAside aside;
    engine_.recording->finish(*record, &trace, "failed", "the backend raised");
  }
  say_backend_failed(settings_->backend.get());
  return false;
}

void Store::give_pieces(Segment& segment, CompilationRecord* record, std::string& message) {
  const Trace& trace = segment.trace();
  const BackendSizes sizes = backend_sizes(trace);
  PyRef pieces = compile_in_pieces(trace, sizes, settings_->given.get());
  message = "sizes depend on data: the graph runs in pieces around what reads them";
  if (record) engine_.recording->not_compiled(*record, trace, message);
  if (!pieces) throw InternalError("the pieces of a graph: " + torch_api::take_python_error());
  segment.set_pieces(std::move(pieces), sizes);
}

bool Store::extend(Segment& segment, Place& place) {
  const Tracing tracing(place);
  const SignalsAside signals;
  if (signals.raised()) return false;
  std::shared_ptr<Instance> instance = segment.make_instance();
  PyErr_Clear();
  if (!instance) return false;
  std::string status, message;
  if (instance->has_graph() && !settings_->backend) give_plan(segment, *instance, nullptr, status, message);
  segment.add_instance(std::move(instance));
  return true;
}

runtime::CompileOptions Store::options_for(const Segment& segment, const Instance& instance) const {
  runtime::CompileOptions options = engine_.compile_options(*settings_);
  options.sizes = segment.sizes();
  options.place = segment.name;
  options.tell_kept = engine_.kept_teller(segment.compilation);
  options.graphs = settings_->graphs();
  options.versions = instance.graphs.versions;
  options.trains = instance.joint || segment.trace().differentiates;
  if (instance.joint) {
    options.kept_results = static_cast<int64_t>(instance.joint->any_size().results.size());
    options.versions.clear();
    for (const auto& result : instance.joint->any_size().results) options.versions.push_back(result.version);
  }
  return options;
}

// The plan's place in the instance, or why it has none.
Status Store::place_plan(const Segment& segment, Instance& instance, std::shared_ptr<runtime::Plan> plan,
                         const runtime::CompileOptions& options, BackwardOrigin origin) {
  engine_.tell(*plan);
  if (!instance.joint) {
    instance.plan = std::move(plan);
    return {};
  }
  instance.training = make_region(
      instance.joint, std::move(plan), options,
      {engine_, segment.name, std::move(origin), sized_backward(instance, options, engine_.teller()),
       instance.evaluated ? &instance.evaluated->region : nullptr});
  if (instance.training) return {};
  return Error{"the node of autograd could not be made: " + torch_api::take_python_error(), "", ""};
}

void Store::give_plan(const Segment& segment, Instance& instance, CompilationRecord* record,
                      std::string& status, std::string& message) {
  const Trace& trace = segment.trace();
  const runtime::CompileOptions options = options_for(segment, instance);
  status = "ok";
  if (settings_->replay || (trace.needs_grad && !instance.joint)) {
    message = settings_->replay ? "backend eager: the captured graph runs through PyTorch"
                                : "gradients are needed and " + instance.no_joint +
                                      ": the captured graph runs through PyTorch's autograd";
    if (record) engine_.recording->not_compiled(*record, trace, message);
    return;
  }
  ir::Recorder* recorder = record ? record->recorder.get() : nullptr;
  if (options.stages && instance.joint) {
    if (instance.graphs.aten) (*options.stages)(instance.graphs.aten);
    (*options.stages)(instance.joint->whole().joint);
  }
  bool interrupted = false;  // by a signal while the compilers are at work
  auto cancelled = [&] {
    interrupted = interrupted || SignalsAside::handle();
    return interrupted || engine_.cancelled.load();
  };
  Result<std::shared_ptr<runtime::Plan>> plan = sized_plan(instance, options, cancelled, engine_.teller());
  BackwardOrigin origin;
  if (instance.joint && recorder)
    origin = engine_.recording->joint(*record, trace);
  else
    origin.forward.id = segment.compilation;  // for other sizes: its launches are told of as the first's are
  try {
    if (!plan.value()) plan = runtime::compile(graph_to_compile(instance), options, recorder, cancelled);
  } catch (const std::exception& error) {
    plan = Error{error.what(), "", ""};
  }
  PyErr_Clear();
  if (plan) {
    Status lacks = place_plan(segment, instance, plan.take(), options, std::move(origin));
    if (!lacks) return;
    plan = std::move(*lacks);
  }
  const bool stopped = interrupted || engine_.cancelled;
  status = stopped ? "cancelled" : "failed";
  message = plan.error().what;
  if (stopped) return;
  const std::string reproducer = write_reproducer(engine_.config.cache_dir, trace, plan.error());
  engine_.warn("a graph could not be compiled and runs through PyTorch: " + message, plan.error().hint,
               reproducer.empty() ? plan.error().where : "reproducer: " + reproducer,
               record ? record->row.id : 0);
}

}  // namespace vitrine::capture
