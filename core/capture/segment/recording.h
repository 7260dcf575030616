// What capture tells a session: code, frames, segments, compilations with their steps and guards, breaks,
// recompilations, calls and messages. One object a session; none exists when nothing is recorded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/capture/guards/guard_tree.h"
#include "core/capture/segment/code_rows.h"
#include "core/capture/segment/step_origins.h"
#include "core/capture/trace/trace.h"
#include "core/ir/recorder.h"
#include "core/session/writer.h"

namespace vitrine::capture {

class Segment;
struct SymbolicGraph;

// One compilation while it is made.
struct CompilationRecord {
  session::CompilationRow row;
  std::unique_ptr<ir::Recorder> recorder;
  std::vector<session::GuardRow> guards;  // by index in the trace
  session::BreakRow broke;                // id 0: none
  Id frame = 0;
};

// What the compilation of a backward graph, some time later, needs of the joint graph's.
struct BackwardOrigin {
  int64_t session = 0;  // which one: when it was opened
  session::CompilationRow forward;
  std::unordered_map<ir::NodeId, Id> entities;  // of joint and backward graph
};

constexpr size_t kIntervalsHeld = 1024;
constexpr int64_t kInstancesRecorded = 256;  // rows of `instance` a compilation
constexpr int64_t kCallsRecorded = 64;       // rows of `call` a compilation; further calls are only counted

class SessionRecording {
 public:
  static Result<std::unique_ptr<SessionRecording>> open(const std::string& path);
  ~SessionRecording();

  // False in a forked child, which must not write.
  bool alive() const;
  session::Writer& writer() { return *writer_; }
  int64_t now() const;                              // nanoseconds since the session was opened
  int64_t started_ns() const { return start_ns_; }  // when that was, on CLOCK_MONOTONIC
  void set_run(Id run) { run_ = run; }
  Id run() const { return run_; }

  // A place of a frame is about to be traced. `previous`: the compilation whose guards did not hold, or 0.
  std::unique_ptr<CompilationRecord> begin(PyObject* code, int32_t pc, int32_t depth);
  // What the trace found: steps, guards, break, captured graph and the stages before it. start_ns: on
  // CLOCK_MONOTONIC.
  void trace(CompilationRecord& record, const Trace& trace, int64_t start_ns);
  // A graph that needs gradients: its ATen, joint and backward graphs and how they were divided; the forward
  // one is compiled after it.
  BackwardOrigin joint(CompilationRecord& record, const Trace& trace);
  // A backward graph is about to be compiled. tangents: see session::BackwardRow. Null: the session that
  // holds the joint graph is closed.
  std::unique_ptr<CompilationRecord> begin_backward(const BackwardOrigin& origin,
                                                    const std::string& tangents);
  // The backward compilation that was recorded of these tangents, which those for other sizes are told of as;
  // 0: none.
  Id backward_of(Id forward, const std::string& tangents) const;
  // The graph runs through PyTorch: the ATen graph is the last stage, and why.
  void not_compiled(CompilationRecord& record, const Trace& trace, const std::string& why);
  // The end of it. status: ok | no_graph | eager | failed | cancelled.
  void finish(CompilationRecord& record, const Trace* trace, const std::string& status,
              const std::string& message);
  void recompilation(const CompilationRecord& record, Id previous, const GuardFailure& failure,
                     const std::string& hint, const std::string& call_site);
  // Keeps the guards of a segment so that their counts are written at the end; `costs` by guard, in ns.
  void watch(CompilationRecord& record, std::shared_ptr<Segment> segment, const std::vector<double>& costs);

  // A segment of the frame has ended at a break; the frame asks for compiled code again (`at_start`: where a
  // call of its function begins). The time between is what the break costs, less what other rows tell of it:
  // compilations, compiled calls and breaks of the functions that are called there. It is a price only of a
  // steady call: one that entered what was compiled before, and compiles nothing meanwhile.
  void break_begins(const Frame& frame, std::shared_ptr<Segment> segment, bool steady);
  void frame_asks(const Frame& frame, bool at_start);
  void call(Id compilation, const char* kind, int64_t start_ns, int64_t duration_ns, int64_t instance = 0);
  // What a call of the segment that passed its check runs, by number (session::InstanceRow); 0: it has no
  // symbols.
  int64_t instance(Segment& segment);
  void message(const std::string& severity, const std::string& text, const std::string& hint,
               const std::string& detail, Id entity);
  // A code object that runs eagerly as a whole, and why.
  void eager_code(PyObject* code, const std::string& reason);

  void commit();
  // What was counted until now is written, and nothing more. What is left of the session outlives Python.
  std::unique_ptr<session::Writer> leave();
  void close(const std::string& status);

 private:
  SessionRecording() = default;
  struct Place {
    Id segment = 0;
    int64_t ordinal = 0, compilations = 0;
  };
  struct Watched {
    std::shared_ptr<Segment> segment;  // alive until the counts are written
    session::CompilationRow row;
    std::vector<session::GuardRow> guards;
    session::BreakRow broke;
  };
  struct RunningBreak {
    std::shared_ptr<Segment> segment;
    PyObject* code = nullptr;  // borrowed, only compared
    int64_t start_ns = 0, recorded_ns = 0;
    bool steady = false;
    int64_t compilations = 0;
  };
  struct Interval {
    int64_t start_ns = 0, duration_ns = 0;
  };
  Id frame(PyObject* code, const std::string& state, const std::string& reason);
  void write_guards(CompilationRecord& record, const Trace& trace);
  void write_symbols(const CompilationRecord& record, const Trace& trace);
  bool write_expressions(Id compilation, const SymbolicGraph& graph);
  void write_break(CompilationRecord& record, const Trace& trace);
  void write_steps(CompilationRecord& record, const Trace& trace, const std::vector<Id>& steps,
                   const StepOrigins& origins);
  void write_partition(const CompilationRecord& record, const Trace& trace);
  void write_graph(const Watched& w);
  void write_counts();
  void tell(Interval interval);
  void write_captured(CompilationRecord& record, const Trace& trace, const std::vector<Id>& steps,
                      const StepOrigins& origins, int64_t start_ns);
  Id instruction_of(const Trace& trace, int32_t step);

  std::unique_ptr<session::Writer> writer_;
  std::unique_ptr<CodeRows> codes_;
  Id run_ = 0;
  int64_t start_ns_ = 0, calls_ = 0, compilations_ = 0;
  int64_t recorded_ns_ = 0;     // in compilations, compiled calls and breaks so far, each moment once
  std::vector<Interval> told_;  // the last of them, of which no one holds another
  std::map<std::pair<Id, PyObject*>, Id> frames_;             // by run and code
  std::map<std::tuple<Id, int32_t, int32_t>, Place> places_;  // by frame, pc and depth
  std::map<Id, int64_t> segments_in_frame_;
  std::map<std::tuple<Id, int32_t>, session::BreakRow> open_breaks_;  // by frame and the pc behind the break
  std::vector<Watched> watched_;
  std::map<const void*, RunningBreak> running_breaks_;               // by frame
  std::map<Id, int64_t> recorded_calls_;                             // by compilation
  std::map<Id, std::map<std::vector<int64_t>, int64_t>> instances_;  // by compilation and values of symbols
  std::map<Id, const void*> expressions_;                            // by compilation: whose rows are written
  std::map<Id, int64_t> backwards_;                                  // by the compilation of the joint graph
  std::map<std::pair<Id, std::string>, Id> backward_of_;             // by forward compilation and tangents
  std::map<Id, session::CompilationRow> backward_rows_;              // whose calls are written at the end
};

}  // namespace vitrine::capture
