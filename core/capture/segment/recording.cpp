#include "core/capture/segment/recording.h"

#include <unistd.h>

#include "core/autograd/joint.h"
#include "core/base/clock.h"
#include "core/capture/segment/observer.h"
#include "core/capture/segment/segment.h"
#include "core/capture/segment/training.h"
#include "core/session/recording_place.h"
#include "core/session/stages.h"

namespace vitrine::capture {

namespace {

// How a guard kind is named in tables.
const char* guard_word(GuardKind kind) {
  switch (kind) {
    case GuardKind::TensorMatch:
      return "tensor";
    case GuardKind::ConstEquals:
    case GuardKind::Compares:
    case GuardKind::IterPosition:
      return "value";
    case GuardKind::Identity:
    case GuardKind::WeakIdentity:
    case GuardKind::FunctionCode:
      return "identity";
    case GuardKind::TypeIs:
      return "type";
    case GuardKind::Length:
    case GuardKind::LengthAtLeast:
    case GuardKind::LengthBelow:
      return "length";
    case GuardKind::DictKeys:
    case GuardKind::DictContains:
    case GuardKind::SetEquals:
      return "keys";
    case GuardKind::HasAttr:
    case GuardKind::InstanceHas:
    case GuardKind::NotInGlobals:
      return "attribute";
    case GuardKind::TypeVersion:
    case GuardKind::AbcRegistry:
      return "version";
    case GuardKind::PlainLeaf:
    case GuardKind::NoFinalizer:
    case GuardKind::NoHooks:
      return "hooks";
    case GuardKind::Apart:
    case GuardKind::DifferentObject:
    case GuardKind::SameObject:
      return "alias";
    case GuardKind::Bound:
      return "value";
    case GuardKind::GlobalState:
      return "state";
  }
  return "value";
}

// "file:line function" -> {"file", "line", "function"}
std::string stack_json(const BreakInfo& broke) {
  std::string out;
  for (const auto& [text, line] : broke.stack) {
    const size_t end = text.find(":" + std::to_string(line) + " ");
    const size_t function = end == std::string::npos ? end : text.find(' ', end);
    if (!out.empty()) out += ",";
    out += "{\"file\":" + json_quoted(text.substr(0, end)) + ",\"line\":" + std::to_string(line) +
           ",\"function\":" + json_quoted(function == std::string::npos ? "" : text.substr(function + 1)) +
           "}";
  }
  return "[" + out + "]";
}

}  // namespace

Result<std::unique_ptr<SessionRecording>> SessionRecording::open(const std::string& path) {
  auto writer = session::begin_recording(path);
  if (!writer) return writer.error();
  std::unique_ptr<SessionRecording> r(new SessionRecording);
  r->writer_ = writer.take();
  r->codes_ = std::make_unique<CodeRows>(*r->writer_);
  r->start_ns_ = monotonic_ns();
  return r;
}

SessionRecording::~SessionRecording() = default;

bool SessionRecording::alive() const {
  return getpid() == writer_->process();
}

int64_t SessionRecording::now() const {
  return monotonic_ns() - start_ns_;
}

Id SessionRecording::frame(PyObject* code, const std::string& state, const std::string& reason) {
  auto [it, added] = frames_.try_emplace({run_, code}, 0);
  if (!added && state != "captured") return it->second;
  if (added) it->second = writer_->next(Kind::Frame);
  if (added || state == "captured")
    writer_->put(session::FrameRow{it->second, run_, codes_->of(code).id, state, reason});
  return it->second;
}

std::unique_ptr<CompilationRecord> SessionRecording::begin(PyObject* code, int32_t pc, int32_t depth) {
  auto record = std::make_unique<CompilationRecord>();
  ++compilations_;
  record->frame = frame(code, "captured", "");
  Place& place = places_[{record->frame, pc, depth}];
  if (!place.segment) {
    place.segment = writer_->next(Kind::Segment);
    place.ordinal = segments_in_frame_[record->frame]++;
    writer_->put(session::SegmentRow{place.segment, record->frame, place.ordinal, pc, depth,
                                     codes_->of(code).instruction(pc)});
    if (auto it = open_breaks_.find({record->frame, pc}); it != open_breaks_.end()) {
      it->second.next_segment = place.segment;
      writer_->put(it->second);
      for (Watched& w : watched_)
        if (w.broke.id == it->second.id) w.broke.next_segment = place.segment;
      open_breaks_.erase(it);
    }
  }
  session::CompilationRow& row = record->row;
  row.id = writer_->next(Kind::Compilation);
  row.segment = place.segment;
  row.ordinal = place.compilations++;
  row.label = std::to_string(place.ordinal) + "/" + std::to_string(row.ordinal);
  row.status = "running";
  row.start_ns = now();
  writer_->put(row);
  record->recorder = std::make_unique<ir::Recorder>(*writer_, row.id, start_ns_);
  return record;
}

Id SessionRecording::instruction_of(const Trace& trace, int32_t step) {
  if (step < 0 || static_cast<size_t>(step) >= trace.steps.size()) return 0;
  const StepRecord& s = trace.steps[step];
  return s.code ? codes_->of(s.code).instruction(s.pc) : 0;
}

void SessionRecording::write_guards(CompilationRecord& record, const Trace& trace) {
  for (size_t i = 0; i < trace.guards.size(); ++i) {
    const Guard& g = trace.guards[i];
    session::GuardRow row;
    row.id = writer_->next(Kind::Guard);
    row.compilation = record.row.id;
    row.ordinal = static_cast<int64_t>(i);
    row.source = g.source                           ? g.source->text()
                 : g.kind == GuardKind::GlobalState ? "torch global state"
                                                    : "globals";
    row.root = g.source ? SharedText(g.source->root()->text()) : row.source;
    row.kind = guard_word(g.kind);
    row.expected = g.expected;
    std::string members;
    for (const Source* member : g.members) members += (members.empty() ? "" : "\n") + member->text();
    row.members = std::move(members);
    if (g.kind == GuardKind::Apart) row.changed = g.number;
    row.instruction = instruction_of(trace, g.step);
    writer_->put(row);
    writer_->link(row.instruction, row.id);
    record.guards.push_back(std::move(row));
  }
}

namespace {

// "add_2.size(0)": as the captured graph names the node, where it has one.
std::string symbol_source(const Trace& trace, size_t i) {
  const std::string& text = trace.symbolic->table.symbols()[i].source;
  const ir::NodeId node = trace.symbolic->origins.at(i).node;
  if (node < 0 || !trace.graphs.captured) return text;
  for (const ir::Node& each : trace.graphs.captured->nodes())
    if (each.id == node) return each.name + text.substr(text.find('.'));
  return text;
}

}  // namespace

namespace {

// Whether each run of a graph with sizes that depend on data finds out what it is.
bool is_of_data(const Trace& trace, int32_t symbol) {
  const auto has = [symbol](const Symbolic::Input& input) {
    return std::find(input.symbols.begin(), input.symbols.end(), symbol) != input.symbols.end();
  };
  return trace.stands_in && std::none_of(trace.symbolic->inputs.begin(), trace.symbolic->inputs.end(), has);
}

}  // namespace

void SessionRecording::write_symbols(const CompilationRecord& record, const Trace& trace) {
  if (!trace.symbolic) return;
  const ir::SymbolTable& table = trace.symbolic->table;
  for (size_t i = 0; i < table.symbols().size(); ++i) {
    const ir::Symbol& symbol = table.symbols()[i];
    session::SymbolRow row;
    row.compilation = record.row.id;
    row.ordinal = static_cast<int64_t>(i);
    row.name = symbol.name;
    row.source = symbol_source(trace, i);
    row.origin = trace.symbolic->origins.at(i).text;
    row.hint = is_of_data(trace, static_cast<int32_t>(i)) ? session::SymbolRow::kOfData : symbol.hint;
    const ir::SymRange range = table.symbol_range(static_cast<int32_t>(i));
    row.lo = range.lo;
    row.hi = range.hi;
    row.fixed_by = symbol.specialised_by;
    writer_->put(row);
  }
  for (size_t i = 0; i < table.guards().size(); ++i) {
    const ir::SymGuard& guard = table.guards()[i];
    writer_->put(
        session::SymbolGuardRow{record.row.id, static_cast<int64_t>(i), table.text(guard), guard.place, ""});
  }
}

namespace {

std::string sizes_text(const ir::SymbolTable& table, const std::vector<int64_t>& values) {
  std::string out;
  for (size_t i = 0; i < std::min(values.size(), table.symbols().size()); ++i)
    out += (out.empty() ? "" : ", ") + table.symbols()[i].name + " = " + std::to_string(values[i]);
  return out;
}

void put_memory(const ir::SymbolTable& table, const runtime::SizedMemory& memory,
                const std::vector<int64_t>& values, session::InstanceRow& row) {
  row.arena_bytes = table.evaluate(memory.arena_bytes, values).value_or(0);
  for (const runtime::SizedBuffer& b : memory.buffers)
    row.buffer_bytes +=
        (row.buffer_bytes.empty() ? "" : ",") + std::to_string(table.evaluate(b.bytes, values).value_or(0));
}

}  // namespace

int64_t SessionRecording::instance(Segment& segment) {
  const Trace& trace = segment.trace();
  if (!trace.symbolic || !segment.compilation || trace.stands_in) return 0;
  const Instance& instance = segment.instance();
  auto& known = instances_[segment.compilation];
  if (const auto found = known.find(instance.values); found != known.end()) return found->second;
  if (static_cast<int64_t>(known.size()) >= kInstancesRecorded) return 0;
  session::InstanceRow row;
  row.compilation = segment.compilation;
  row.ordinal = static_cast<int64_t>(known.size()) + 1;
  row.sizes = sizes_text(trace.symbolic->table, instance.values);
  std::tie(row.how, row.reason) = segment.how_made(instance);
  if (row.how == "instantiated") {
    const SymbolicGraph& graph = *instance.evaluated;
    if (write_expressions(row.compilation, graph))
      put_memory(graph.table, graph.forward.plans->memory(), instance.numbers, row);
  }
  writer_->put(row);
  known.emplace(instance.values, row.ordinal);
  return row.ordinal;
}

// The memory of the program that the segment's instances are made of, and what it asks of sizes. false: it is
// another program's, whose buffers have no rows.
bool SessionRecording::write_expressions(Id compilation, const SymbolicGraph& graph) {
  const auto [described, fresh] = expressions_.emplace(compilation, &graph);
  if (!fresh) return described->second == &graph;
  const auto& buffers = graph.forward.plans->memory().buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const runtime::SizedBuffer& b = buffers[i];
    const bool placed = b.offset.symbolic() || b.offset.hint() >= 0;
    writer_->put(session::SizedBufferRow{compilation, static_cast<int64_t>(i), b.name, b.kind, b.type.text(),
                                         ir::text(b.bytes), placed ? ir::text(b.offset) : "", b.first_step,
                                         b.last_step});
  }
  const auto& guards = graph.table.guards();
  for (size_t i = 0; i < guards.size(); ++i)
    writer_->put(session::SymbolGuardRow{compilation, static_cast<int64_t>(i), graph.table.text(guards[i]),
                                         guards[i].place, "expressions"});
  return true;
}

void SessionRecording::write_break(CompilationRecord& record, const Trace& trace) {
  if (!trace.broke || trace.is_piece) return;
  PyObject* code = trace.codes.empty() ? nullptr : trace.codes.front();
  session::BreakRow& row = record.broke;
  row.id = writer_->next(Kind::Break);
  row.compilation = record.row.id;
  row.kind = trace.broke->kind;
  row.reason = trace.broke->reason;
  row.hint = trace.broke->hint;
  row.stack = stack_json(*trace.broke);
  if (const BreakInfo::At* cause = cause_of(*trace.broke))
    row.cause = codes_->of(cause->code.get()).instruction(cause->pc);
  if (code) {
    const Bytecode bytecode(code);
    row.instruction = codes_->of(code).instruction(trace.end_pc);
    row.expression = expression_text(bytecode, trace.end_pc);
    const Instruction* in = bytecode.find(trace.end_pc);
    if (in && trace.end != Trace::End::Return) open_breaks_[{record.frame, in->next_pc}] = row;
  }
  writer_->put(row);
  writer_->link(row.instruction, row.id);
}

// expression -> instruction -> step -> node; the user's own expression -> node besides, where that of the
// step is a library's.
void SessionRecording::write_captured(CompilationRecord& record, const Trace& trace,
                                      const std::vector<Id>& steps, const StepOrigins& origins,
                                      int64_t start_ns) {
  ir::Recorder& recorder = *record.recorder;
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepRecord& s = trace.steps[i];
    if (origins.nodes(i).empty() || !s.code) continue;
    const CodeIds& code = codes_->of(s.code);
    const UserPlace user = origins.user_place(i);
    writer_->link(code.instruction(s.pc), steps[i]);
    if (user.instruction && user.instruction != code.instruction(s.pc))
      writer_->link(user.instruction, steps[i]);
    for (const ir::NodeId node : origins.nodes(i)) {
      recorder.step_of.emplace(node, steps[i]);
      recorder.span_of.emplace(node, user.span ? user.span : code.span(s.pc));
    }
  }
  if (trace.graphs.captured)
    recorder.graph(trace.graphs.captured, "", "", true, start_ns, monotonic_ns() - start_ns);
}

void SessionRecording::write_steps(CompilationRecord& record, const Trace& trace,
                                   const std::vector<Id>& steps, const StepOrigins& origins) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepRecord& s = trace.steps[i];
    session::StepRow row;
    row.id = steps[i];
    row.compilation = record.row.id;
    row.ordinal = static_cast<int64_t>(i);
    row.instruction = s.code ? codes_->of(s.code).instruction(s.pc) : 0;
    row.depth = s.depth;
    row.event = s.event.empty() ? origins.event(i) : s.event;
    row.text = s.text;
    row.effect = s.effect_json;
    const int32_t guard = origins.first_guard(i);
    if (!origins.nodes(i).empty())
      row.entity = record.recorder->entity(origins.nodes(i).front());
    else if (row.event == "break")
      row.entity = record.broke.id;
    else if (guard >= 0)
      row.entity = record.guards[guard].id;
    writer_->put(row);
  }
}

void SessionRecording::trace(CompilationRecord& record, const Trace& trace, int64_t start_ns) {
  int64_t instructions = 0, lines = 0;
  for (PyObject* code : trace.codes) {
    const CodeIds& ids = codes_->of(code);
    instructions += static_cast<int64_t>(ids.instructions.size());
    lines += static_cast<int64_t>(ids.spans.size());
  }
  std::vector<Id> steps(trace.steps.size());
  for (Id& id : steps) id = writer_->next(Kind::Step);
  write_guards(record, trace);
  write_symbols(record, trace);
  write_break(record, trace);
  const StepOrigins origins(trace, *codes_);
  write_captured(record, trace, steps, origins, start_ns);
  write_steps(record, trace, steps, origins);
  ir::Recorder& recorder = *record.recorder;
  const int64_t duration = monotonic_ns() - start_ns;
  const int64_t nodes = trace.graphs.captured ? static_cast<int64_t>(trace.graphs.captured->operators()) : 0;
  recorder.stage("source", "ok", lines, start_ns, 0);
  recorder.stage("bytecode", "ok", instructions, start_ns, 0);
  const std::string& chosen = trace.graph_effects.chosen_on_gpu;
  recorder.stage(
      "captured", nodes ? "ok" : "none", nodes, start_ns, duration,
      chosen.empty()
          ? ""
          : chosen + ": written out here; where the GPU is PyTorch may choose a kernel of its own");
}

void SessionRecording::not_compiled(CompilationRecord& record, const Trace& trace, const std::string& why) {
  const int64_t now_ns = monotonic_ns();
  if (!trace.graphs.aten) return;
  record.recorder->graph(trace.graphs.aten, "", why, true, now_ns, 0);
  record.recorder->stage("aten", "ok", static_cast<int64_t>(trace.graphs.aten->operators()), now_ns, 0);
  bool below = false;
  for (const session::StageInfo& stage : session::kStages) {
    if (below && stage.name != "timeline")
      record.recorder->stage(std::string(stage.name), "none", 0, now_ns, 0, why);
    below = below || stage.name == "aten";
  }
}

BackwardOrigin SessionRecording::joint(CompilationRecord& record, const Trace& trace) {
  const std::string derivative = "forward, then its derivative; " + gradients_sentence(*trace.joint);
  const std::pair<const ir::GraphPtr*, const char*> graphs[] = {
      {&trace.graphs.aten, "the operators that PyTorch's dispatcher would run"},
      {&trace.joint->joint, derivative.c_str()},
      {&trace.joint->halves.backward,
       "from what was saved and the results' gradients to the inputs' gradients"}};
  for (const auto& [graph, sentence] : graphs) {
    const int64_t start = monotonic_ns();
    record.recorder->graph(*graph, "", sentence, true, start, 0);
    record.recorder->stage((*graph)->stage, "ok", static_cast<int64_t>((*graph)->operators()), start,
                           monotonic_ns() - start);
  }
  write_partition(record, trace);
  return {start_ns_, record.row, record.recorder->entities()};
}

void SessionRecording::write_partition(const CompilationRecord& record, const Trace& trace) {
  using autodiff::Crossing;
  const autodiff::Partition& halves = trace.joint->halves;
  session::PartitionRow row{record.row.id, 0, halves.saved_bytes, halves.eager_bytes, 0};
  int64_t ordinal = 0;
  for (const Crossing& c : halves.crossings) {
    const ir::Node& node = trace.joint->joint->node(c.value.node);
    row.saved += c.kind == Crossing::Kind::saved;
    row.recomputed += c.kind == Crossing::Kind::recomputed && c.bytes > 0;
    writer_->put(session::CrossingRow{record.row.id, ordinal++, node.name, autodiff::crossing_name(c.kind),
                                      node.outputs.at(static_cast<size_t>(c.value.output)).text(), c.bytes,
                                      record.recorder->entity(c.value.node), record.recorder->entity(c.here),
                                      c.reason});
  }
  writer_->put(row);
  for (const std::string& text : halves.refused)
    message("warning", "A pin of the partition was not obeyed: " + text + ".",
            "The view Saved tensors names the values that can be pinned.", "", record.row.id);
}

std::unique_ptr<CompilationRecord> SessionRecording::begin_backward(const BackwardOrigin& origin,
                                                                    const std::string& tangents) {
  if (origin.session != start_ns_ || !origin.forward.id) return nullptr;
  auto record = std::make_unique<CompilationRecord>();
  const int64_t ordinal = backwards_[origin.forward.id]++;
  session::CompilationRow& row = record->row;
  row.id = writer_->next(Kind::Compilation);
  row.segment = origin.forward.segment;
  row.ordinal = origin.forward.ordinal;
  row.label = origin.forward.label + " backward" + (ordinal ? " " + std::to_string(ordinal + 1) : "");
  row.status = "running";
  row.end = "return";
  row.start_ns = now();
  writer_->put(row);
  writer_->put(session::BackwardRow{origin.forward.id, row.id, tangents});
  backward_of_.emplace(std::pair(origin.forward.id, tangents), row.id);
  record->recorder = std::make_unique<ir::Recorder>(*writer_, row.id, start_ns_);
  record->recorder->know(origin.entities);
  return record;
}

Id SessionRecording::backward_of(Id forward, const std::string& tangents) const {
  const auto it = backward_of_.find({forward, tangents});
  return it == backward_of_.end() ? 0 : it->second;
}

void SessionRecording::finish(CompilationRecord& record, const Trace* trace, const std::string& status,
                              const std::string& message) {
  session::CompilationRow& row = record.row;
  row.status = status;
  row.message = message;
  row.duration_ns = now() - row.start_ns;
  if (!trace) backward_rows_[row.id] = row;
  if (trace) {
    row.end = trace->end == Trace::End::Return  ? "return"
              : trace->end == Trace::End::Break ? "break"
                                                : "exit";
    row.end_pc = trace->end_pc;
    row.autograd = trace->needs_grad && !trace->joint;
  }
  writer_->put(row);
  commit();
}

void SessionRecording::watch(CompilationRecord& record, std::shared_ptr<Segment> segment,
                             const std::vector<double>& costs) {
  for (size_t i = 0; i < record.guards.size() && i < costs.size(); ++i) {
    record.guards[i].cost_ns = costs[i];
    writer_->put(record.guards[i]);
  }
  segment->guards().counting = true;
  segment->compilation = record.row.id;
  watched_.push_back({std::move(segment), record.row, std::move(record.guards), record.broke});
}

void SessionRecording::recompilation(const CompilationRecord& record, Id previous,
                                     const GuardFailure& failure, const std::string& hint,
                                     const std::string& call_site) {
  session::RecompilationRow row;
  row.id = writer_->next(Kind::Recompilation);
  row.compilation = record.row.id;
  row.previous = previous;
  row.call = calls_;
  row.call_of_place = 1;
  for (const Watched& w : watched_)
    if (w.row.segment == record.row.segment) row.call_of_place += recorded_calls_[w.row.id];
  for (const Watched& w : watched_)
    if (w.row.id == previous && failure.guard >= 0 && static_cast<size_t>(failure.guard) < w.guards.size())
      row.guard = w.guards[failure.guard].id;
  row.failed = failure.condition();
  row.old_value = failure.expected;
  row.new_value = failure.actual;
  row.call_site = call_site;
  row.hint = hint;
  writer_->put(row);
  writer_->link(row.guard, row.id);
}

// One that held others ends after them.
void SessionRecording::tell(Interval interval) {
  while (!told_.empty() && told_.back().start_ns >= interval.start_ns) {
    recorded_ns_ -= told_.back().duration_ns;
    told_.pop_back();
  }
  recorded_ns_ += interval.duration_ns;
  if (told_.size() == kIntervalsHeld) told_.erase(told_.begin(), told_.begin() + kIntervalsHeld / 2);
  told_.push_back(interval);
}

void SessionRecording::call(Id compilation, const char* kind, int64_t start_ns, int64_t duration_ns,
                            int64_t instance) {
  tell({start_ns, duration_ns});
  ++calls_;
  if (++recorded_calls_[compilation] > kCallsRecorded) return;
  writer_->put(session::CallRow{writer_->next(Kind::Call), run_, calls_, compilation, kind, start_ns,
                                duration_ns, instance});
}

void SessionRecording::break_begins(const Frame& frame, std::shared_ptr<Segment> segment, bool steady) {
  running_breaks_[frame.raw()] = {std::move(segment), frame.code(), now(),
                                  recorded_ns_,       steady,       compilations_};
}

void SessionRecording::frame_asks(const Frame& frame, bool at_start) {
  auto it = running_breaks_.find(frame.raw());
  if (it == running_breaks_.end()) return;
  // A new frame may lie where another was.
  const RunningBreak& broke = it->second;
  if (!at_start && broke.code == frame.code()) {
    const int64_t elapsed = now() - broke.start_ns;
    if (broke.steady && broke.compilations == compilations_)
      broke.segment->add_break_ns(std::max<int64_t>(0, elapsed - (recorded_ns_ - broke.recorded_ns)));
    tell({broke.start_ns, elapsed});
  }
  running_breaks_.erase(it);
}

void SessionRecording::message(const std::string& severity, const std::string& text, const std::string& hint,
                               const std::string& detail, Id entity) {
  writer_->put(session::MessageRow{writer_->next(Kind::Message), run_, now(), severity, "vitrine", text, hint,
                                   detail, entity});
}

void SessionRecording::eager_code(PyObject* code, const std::string& reason) {
  frame(code, "eager", reason);
}

void SessionRecording::write_graph(const Watched& w) {
  std::vector<std::pair<Id, runtime::GraphFacts>> graphs;
  if (const runtime::Plan* plan = w.segment->plan()) graphs.emplace_back(w.row.id, plan->graph_facts());
  if (PyObject* region = w.segment->training()) graphs = region_graphs(region, w.row.id);
  for (const auto& [compilation, f] : graphs)
    if (!f.state.empty())
      writer_->put(session::CudaGraphRow{compilation, f.state, f.reason, f.launches, f.inputs_followed,
                                         f.inputs_in_place, f.inputs_copied, f.results_followed,
                                         f.results_copied, f.results_lent, f.bytes_copied});
}

void SessionRecording::write_counts() {
  for (auto& [compilation, row] : backward_rows_) {
    row.calls = recorded_calls_[compilation];
    writer_->put(row);
  }
  for (Watched& w : watched_) {
    w.row.calls = w.segment->calls;
    w.row.checked = w.segment->checked;
    writer_->put(w.row);
    write_graph(w);
    const std::vector<GuardCount>& counts = w.segment->guards().counts();
    for (size_t i = 0; i < w.guards.size() && i < counts.size(); ++i) {
      w.guards[i].checks = counts[i].checks;
      w.guards[i].fails = counts[i].fails;
      writer_->put(w.guards[i]);
    }
    if (!w.broke.id) continue;
    w.broke.calls = w.segment->calls;
    w.broke.ns_per_call = w.segment->median_break_ns();
    w.broke.priced = w.segment->breaks_measured();
    writer_->put(w.broke);
  }
}

void SessionRecording::commit() {
  writer_->commit();
}

std::unique_ptr<session::Writer> SessionRecording::leave() {
  write_counts();
  for (Watched& w : watched_) w.segment->guards().counting = false;
  writer_->commit();
  return std::move(writer_);
}

void SessionRecording::close(const std::string& status) {
  leave()->finish(status);
}

}  // namespace vitrine::capture
