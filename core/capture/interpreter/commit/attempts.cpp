// The attempts at a trace. Nothing is executed while a program is interpreted, so nothing is undone: another
// attempt is a new Tracer over the same live frame. An attempt ends with a trace, or with the reason for
// another one.
//
//   reason                   the next attempt
//   -----------------------  -----------------------------------------------------------------------------
//   as_eager                 does not tell the program that it is compiled: the way for compilers raises, or
//                            calls an operator that takes functions (torch.associative_scan), whose
//                            gradients are wrong outside of a compiler
//   by_instructions          interprets a frame of PyTorch's own that Vitrine would write otherwise
//   backward_for_real        leaves out the backward pass: what leaves the segment needs autograd
//   checkpoints_for_real     leaves out checkpoints: PyTorch's autograd differentiates the graph
//   no_stand_ins             breaks where a size or an int depends on data
//   no_checks_behind_writes  leaves out checks behind writes: PyTorch's autograd differentiates the graph
//   before_break             ends before what must run for real
//   before_handler           ends before the exception that the outermost frame handles, or its locals()
//   before_gradients         ends behind an update of what is differentiated there
//   before_value             ends before a value that cannot be rebuilt
//
// The first six begin anew under other options, each once. The others keep the options and interpret fewer
// instructions of the outermost frame, until none is left. kMostAttempts bounds them all.
#include <algorithm>
#include <utility>
#include <variant>

#include "core/autograd/joint.h"
#include "core/capture/interpreter/library/cached_calls.h"
#include "core/capture/interpreter/library/known_functions.h"
#include "core/capture/interpreter/symbolic/data_sizes.h"
#include "core/capture/interpreter/symbolic/read_floats.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/trace/break_kinds.h"

namespace vitrine::capture {
namespace {

constexpr int kMostAttempts = 40;

enum class Retry : uint8_t {
  AsEager,
  ByInstructions,
  BackwardForReal,
  CheckpointsForReal,
  NoStandIns,
  NoChecksBehindWrites,
  BeforeBreak,
  BeforeHandler,
  BeforeGradients,
  BeforeValue,
};

using OptionChange = void (*)(TraceOptions& options, const std::string& why);

struct RetryRow {
  Retry reason;
  std::string_view name;          // in Trace::retries
  int most;                       // how often in a trace
  OptionChange change = nullptr;  // what is otherwise in an attempt that begins anew
};

constexpr RetryRow kRetries[] = {
    {Retry::AsEager, "as_eager", 1, [](TraceOptions& o, const std::string&) { o.as_eager = true; }},
    {Retry::ByInstructions, "by_instructions", 1,
     [](TraceOptions& o, const std::string&) { o.knows_frame = false; }},
    {Retry::BackwardForReal, "backward_for_real", 1,
     [](TraceOptions& o, const std::string& why) { o.backward_for_real = why; }},
    {Retry::CheckpointsForReal, "checkpoints_for_real", 1,
     [](TraceOptions& o, const std::string& why) { o.checkpoints_for_real = why; }},
    {Retry::NoStandIns, "no_stand_ins", 1, [](TraceOptions& o, const std::string&) { o.stands_in = false; }},
    {Retry::NoChecksBehindWrites, "no_checks_behind_writes", 1,
     [](TraceOptions& o, const std::string&) { o.checks_behind_writes = false; }},
    {Retry::BeforeBreak, "before_break", kMostAttempts},
    {Retry::BeforeHandler, "before_handler", kMostAttempts},
    {Retry::BeforeGradients, "before_gradients", kMostAttempts},
    {Retry::BeforeValue, "before_value", kMostAttempts},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kRetries); ++i)
    if (static_cast<size_t>(kRetries[i].reason) != i) return false;
  return std::size(kRetries) == static_cast<size_t>(Retry::BeforeValue) + 1;
}
static_assert(in_order());

// What an attempt begins with, and what those before it have found.
struct TraceAttempt {
  TraceOptions options;
  int64_t stop_at = -1;                 // how many instructions of the outermost frame to interpret; -1: all
  std::optional<BreakInfo> broke = {};  // why the segment ends before the program does
  NotCached not_cached = {};
  std::vector<std::string_view> retries = {};
};

// What the next attempt is made for.
struct NextAttempt {
  Retry reason;
  int64_t stop_at = -1;  // where there is no change of options
  std::string why = {};  // for the change of options
};

using Ending = std::variant<std::unique_ptr<Trace>, NextAttempt>;

// The instruction that must run for real is the film's last.
void film_break(Trace& trace) {
  StepRecord step;
  step.code = trace.codes.front();
  step.pc = trace.end_pc;
  step.event = "break";
  step.text = trace.broke ? trace.broke->reason : "";
  trace.steps.push_back(std::move(step));
}

// The trace of what was interpreted, with why it ends if it does before the program does.
std::unique_ptr<Trace> finished(Tracer& tracer, TraceAttempt& a) {
  const bool returned = tracer.returned();
  if (!returned) guard_not_cached(tracer, a.not_cached);
  auto trace = tracer.finish(returned);
  if (returned) return trace;
  if (a.broke && a.broke->stack.empty()) a.broke = tracer.broke_for(*a.broke);  // it has no place yet
  trace->broke = a.broke;
  trace->fills_caches = !a.not_cached.empty();
  if (a.options.record_steps && !trace->codes.empty()) film_break(*trace);
  return trace;
}

// The interpretation has met something that must run for real, or raises.
Ending ending_of_broken(Tracer& tracer, TraceAttempt& a) {
  if (tracer.asked_is_compiling && (tracer.broke().kind == "exception" || tracer.broke_in_higher_order))
    return NextAttempt{Retry::AsEager};
  if (a.options.knows_frame && a.stop_at < 0 && tracer.frames.executed == 0 &&
      is_known_function(tracer.frames.live.function()))
    return NextAttempt{Retry::ByInstructions};
  if (a.options.stands_in && tracer.sizes.last_stand_in && tracer.broke().kind == "exception")
    return NextAttempt{Retry::NoStandIns};  // it may be of the sizes that stand in
  if (!a.broke) a.broke = tracer.broke();
  if (tracer.graph.differentiates_again) a.options.differentiated_again = true;
  const int64_t stop_at = tracer.frames.end();
  if (stop_at == 0) return tracer.give_up(*a.broke);
  for (auto& each : take_not_cached(tracer)) a.not_cached.push_back(std::move(each));
  return NextAttempt{Retry::BeforeBreak, stop_at};
}

// An update of parameters and a computation behind it that needs their gradients are compiled apart. Nothing:
// there is nothing of both, or it may not be.
std::optional<NextAttempt> before_gradients(const Tracer& tracer, TraceAttempt& a) {
  if (a.options.fullgraph || tracer.graph.gradients_begin <= 0) return {};
  a.broke = BreakInfo{std::string(kUpdateBreak),
                      "gradients of tensors that were updated before are needed from here on",
                      "",
                      {}};
  return NextAttempt{Retry::BeforeGradients, tracer.graph.gradients_begin};
}

// Where PyTorch's autograd differentiates the graph, nothing of a checkpoint is computed again: its values
// are kept, and what it gives may not be written to behind it, as it may in eager. Nor is it known which part
// of a derivative of PyTorch's own is a checkpoint's. Nothing: there is none, or it may not be.
std::optional<NextAttempt> without_checkpoints(const Tracer& tracer, const Trace& trace,
                                               const TraceAttempt& a) {
  if (a.options.fullgraph || !tracer.graph.checkpoints || !a.options.checkpoints_for_real.empty()) return {};
  if (!trace.needs_grad) return {};
  const std::string& why = trace.joint ? trace.joint->borrowed : trace.no_joint;
  if (why.empty()) return {};
  return NextAttempt{Retry::CheckpointsForReal, -1, why};
}

// A graph that does nothing but read numbers is left to Python. Nothing: there is more in it.
std::optional<NextAttempt> without_reads(const Tracer& tracer, TraceAttempt& a) {
  const int64_t begin = a.options.fullgraph ? -1 : begin_of_reads_alone(tracer);
  if (begin < 0) return {};
  a.broke = BreakInfo{"scalar_read", "nothing is computed but a number that is read from a tensor", "", {}};
  return NextAttempt{Retry::BeforeValue, begin};
}

// The interpretation has come to where it was to stop, or to the program's end.
Ending ending_of_complete(Tracer& tracer, TraceAttempt& a) {
  if (!tracer.returned() && tracer.frames.latest_end() >= 0)
    return NextAttempt{Retry::BeforeHandler, tracer.frames.latest_end()};
  try {
    auto trace = finished(tracer, a);
    const bool by_pytorch = trace->needs_grad && !trace->joint;
    if (auto again = by_pytorch ? before_gradients(tracer, a) : std::nullopt) return *again;
    if (auto again = without_checkpoints(tracer, *trace, a)) return *again;
    if (trace->stands_in && !why_no_stand_ins(tracer, *trace).empty()) return NextAttempt{Retry::NoStandIns};
    if (auto again = without_reads(tracer, a)) return *again;
    return trace;
  } catch (const AutogradSignal& signal) {
    VITRINE_CHECK(a.options.backward_for_real.empty(), "a backward pass was recorded against all options");
    if (auto again = before_gradients(tracer, a)) return *again;
    return NextAttempt{Retry::BackwardForReal, -1, signal.why};
  } catch (const WrittenSignal&) {
    return NextAttempt{Retry::NoChecksBehindWrites};
  } catch (const BreakSignal& signal) {
    // A value that cannot be rebuilt lives here: the segment ends where it does not live yet.
    if (!a.broke) a.broke = signal.info;
    const int64_t stop_at = tracer.frames.end(a.retries.size() < kMostAttempts / 2 ? 1 : 8);
    if (stop_at <= 0) return tracer.give_up(*a.broke);
    return NextAttempt{Retry::BeforeValue, stop_at};
  }
}

// false: there is no other attempt. It was made as often as it may be, or there is nothing left to interpret.
bool begin_again(TraceAttempt& a, const NextAttempt& again) {
  const RetryRow& row = kRetries[static_cast<size_t>(again.reason)];
  a.retries.push_back(row.name);
  if (std::count(a.retries.begin(), a.retries.end(), row.name) > row.most) return false;
  if (row.change) {
    row.change(a.options, again.why);
    a.broke.reset();
    a.not_cached.clear();
  }
  a.stop_at = again.stop_at;
  return a.stop_at != 0;
}

}  // namespace

std::unique_ptr<Trace> trace(Frame& frame, const TraceOptions& given) {
  BytecodeCache bytecodes;
  TraceAttempt attempt{given};
  std::unique_ptr<Trace> trace;
  for (bool more = true; more && attempt.retries.size() < kMostAttempts;) {
    Tracer tracer(frame, attempt.options, attempt.stop_at, bytecodes);
    Ending ending = tracer.run() ? ending_of_complete(tracer, attempt) : ending_of_broken(tracer, attempt);
    if (const auto* again = std::get_if<NextAttempt>(&ending))
      more = begin_again(attempt, *again);
    else
      trace = std::move(std::get<std::unique_ptr<Trace>>(ending)), more = false;
  }
  if (!trace)
    trace = Tracer(frame, attempt.options, 0, bytecodes).give_up(attempt.broke.value_or(BreakInfo{}));
  trace->retries = std::move(attempt.retries);
  trace->as_if = given.as_if;
  trace->target = given.target;
  return trace;
}

}  // namespace vitrine::capture
