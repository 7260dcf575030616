#include "core/session/verdict.h"

#include <map>
#include <set>

#include "core/session/reader.h"

namespace vitrine::session {

namespace {

std::string counted(int64_t n, const std::string& one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

bool is_target(const RunRow& run) {
  return run.device.find("compiled only") != std::string::npos;
}

std::string upper(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// What kept a run from coming to something; "" when it finished.
std::string ended_early(const RunRow& run) {
  if (run.status == "running") return "the run has not come to it yet";
  if (run.status == "failed") return "the run failed before it";
  if (run.status == "cancelled") return "the run was cancelled before it";
  if (run.status == "died") return "the engine ended before it";
  return "";
}

std::string why_not_compared(const RunRow& run, bool steps) {
  if (is_target(run)) return "it was compiled for a GPU that is not here, and its call ran eagerly";
  if (const std::string early = ended_early(run); !early.empty()) return early;
  if (run.entry == "script")
    return std::string(steps ? "of a script that ran twice only printed losses are" : "a script runs once") +
           "; --check compares each graph that has compiled kernels";
  return "this run recorded no comparison";
}

std::string why_not_measured(const RunRow& run, bool steps) {
  if (is_target(run)) return "it was compiled for a GPU that is not here";
  if (const std::string early = ended_early(run); !early.empty()) return early;
  if (run.entry == "script")
    return steps ? "of a script only steps are"
                 : "a script's steps are measured by --eager-too, where both of its runs end alike";
  return "the run was recorded without a measurement";
}

// "call 2: output" and "call 2: exception" are of one call; "graph of compilation 3" is of a checked graph.
bool of_graph(const AccuracyRow& row) {
  return row.output.starts_with("graph of compilation ");
}

std::string call_of(const AccuracyRow& row) {
  const size_t colon = row.output.find(": ");
  return row.output.starts_with("call ") && colon != std::string::npos ? row.output.substr(0, colon) : "";
}

void judge_outputs(const RunRecord& record, Verdict& out) {
  std::set<std::string> calls;
  std::vector<AccuracyRow> rows;
  for (const AccuracyRow* row : record.accuracies) {
    if (!of_graph(*row)) calls.insert(call_of(*row));
    out.differs = out.differs || row->verdict == "differs";
    rows.push_back(*row);
  }
  out.output_calls = static_cast<int64_t>(calls.size());
  for (const CompilationRow* c : record.compilations) {
    out.checked_graphs += c->checked > 0;
    out.checked_calls += c->checked;
  }
  out.words = verdict_words(rows);
  out.compared = !rows.empty() || out.checked_graphs > 0;
  if (out.words.empty() && out.checked_graphs > 0) out.words = "close to eager";
  out.graphs = static_cast<int64_t>(record.with_graph.size());
  out.gradients = !record.backwards.empty();
  if (!out.compared) out.why_not = why_not_compared(*record.run, record.steps);
}

void judge_frames(const RunRecord& record, Verdict& out) {
  std::map<Id, Id> frame_of_segment, frame_of;
  for (const SegmentRow* segment : record.segments) frame_of_segment[segment->id] = segment->frame;
  const std::set<Id> with_graph(record.with_graph.begin(), record.with_graph.end());
  std::set<Id> stopped, left, failed, graphs;
  for (const CompilationRow* c : record.compilations) {
    const Id frame = frame_of[c->id] = frame_of_segment[c->segment];
    if (c->status == "failed" || c->status == "cancelled") failed.insert(frame);
    if (c->end != "return") left.insert(frame);
    if (with_graph.contains(c->id)) graphs.insert(frame);
  }
  for (const BreakRow* row : record.breaks) stopped.insert(frame_of[row->compilation]);
  for (const FrameRow* frame : record.frames) {
    const Id id = frame->id;
    if (frame->state == "skipped")
      ++out.skipped;
    else if (frame->state != "captured" || failed.contains(id))
      ++out.eager;
    else if (stopped.contains(id) || (graphs.contains(id) && left.contains(id)))
      ++out.broken;
    else
      ++(graphs.contains(id) ? out.whole : out.without_graph);
  }
}

// "1 frame is", "3 frames are".
std::string frames_are(int64_t n, bool named) {
  return named ? counted(n, "frame") + (n == 1 ? " is " : " are ")
               : std::to_string(n) + (n == 1 ? " is " : " are ");
}

}  // namespace

std::string Verdict::outputs() const {
  if (!compared) return "outputs were not compared: " + why_not;
  std::string out;
  if (output_calls) out = "outputs of " + counted(output_calls, "call") + " " + words;
  if (checked_graphs) {
    const std::string of = checked_graphs == graphs ? "" : " of " + std::to_string(graphs);
    out += (out.empty() ? "" : ", and ") + std::string("results of ") + std::to_string(checked_graphs) + of +
           (graphs == 1 ? " graph, compared in " : " graphs, compared in ") + counted(checked_calls, "call") +
           (output_calls ? "" : ", " + words);
  }
  if (out.empty()) out = "results " + words;  // only a graph that differs was recorded
  return gradients ? out + "; gradients were not compared" : out;
}

std::string Verdict::frames() const {
  std::string out;
  auto add = [&](int64_t n, const std::string& one, const std::string& several) {
    if (!n) return;
    const bool first = out.empty();
    out += (first ? "" : ", ") + frames_are(n, first) + (n == 1 ? one : several);
  };
  add(whole, "one graph", "one graph each");
  add(broken, "in parts", "in parts");
  add(without_graph, "without a tensor operation", "without a tensor operation");
  add(eager, "run by eager, for its compilation was given up",
      "run by eager, for their compilations were given up");
  add(skipped, "skipped", "skipped");
  if (out.empty()) return "no frame was captured";
  if (breaks) out += ", with " + counted(breaks, "graph break");
  if (recompilations) out += ", compiled " + counted(recompilations, "more time");
  return out;
}

std::string Verdict::text() const {
  std::string out = upper(frames()) + ". " + upper(outputs()) + ".";
  if (!measured && !steps) out += " Times were not measured: " + why_not_measured + ".";
  return out;
}

Verdict verdict_of(const RunRecord& record) {
  Verdict out;
  if (!record.run) return out;
  const RunRow& run = *record.run;
  judge_outputs(record, out);
  judge_frames(record, out);
  out.breaks = static_cast<int64_t>(break_causes(record.breaks, record.context).size());
  out.recompilations = static_cast<int64_t>(record.recompilations.size());
  out.steps = record.steps;
  out.measured = run.eager_ns > 0 && run.compiled_ns > 0;
  if (!out.measured) out.why_not_measured = why_not_measured(run, record.steps);
  out.finished = run.status == "finished";
  return out;
}

namespace {

template <class Row>
std::vector<const Row*> pointers(const std::vector<Row>& rows) {
  std::vector<const Row*> out;
  for (const Row& row : rows) out.push_back(&row);
  return out;
}

BreakContext context_of(const Reader& session, const std::vector<CompilationRow>& compilations) {
  BreakContext out;
  std::map<Id, const CompilationRow*> by_id;
  for (const CompilationRow& row : compilations) by_id.emplace(row.id, &row);
  out.compilation = [by_id = std::move(by_id)](Id id) {
    const auto found = by_id.find(id);
    return found == by_id.end() ? nullptr : found->second;
  };
  out.line = [&session](Id id) {
    const InstructionRow row = session.row<InstructionRow>(id);
    return std::pair{row.code, row.span ? session.row<SpanRow>(row.span).line : 0};
  };
  return out;
}

}  // namespace

std::vector<BreakCause> break_causes(const Reader& session, const std::vector<BreakRow>& breaks) {
  const auto compilations = session.all<CompilationRow>();
  return break_causes(pointers(breaks), context_of(session, compilations));
}

Verdict verdict_of(const Reader& session, const RunRow& run) {
  const std::string of_run = "frame IN (SELECT id FROM frame WHERE run = ?1)";
  const std::string of_compilation =
      "compilation IN (SELECT compilation.id FROM compilation JOIN segment ON "
      "compilation.segment = segment.id WHERE segment." +
      of_run + ")";
  const std::vector<int64_t> args{run.id};
  const auto frames = session.rows<FrameRow>("run = ?1", args);
  const auto segments = session.rows<SegmentRow>(of_run, args);
  const auto compilations =
      session.rows<CompilationRow>("segment IN (SELECT id FROM segment WHERE " + of_run + ")", args);
  const auto breaks = session.rows<BreakRow>(of_compilation, args);
  const auto recompilations = session.rows<RecompilationRow>(of_compilation, args);
  const auto accuracies = session.rows<AccuracyRow>("run = ?1", args);
  RunRecord record{&run,
                   pointers(frames),
                   pointers(segments),
                   pointers(compilations),
                   {},
                   {},
                   pointers(breaks),
                   pointers(recompilations),
                   pointers(accuracies),
                   session.rows<MeasurementRow>("run = ?1 AND kind = 'step'", args).size() > 1,
                   context_of(session, compilations)};
  std::set<Id> with_graph;
  for (const GraphRow& graph :
       session.rows<GraphRow>("stage IN ('captured', 'aten') AND " + of_compilation, args))
    with_graph.insert(graph.compilation);
  record.with_graph.assign(with_graph.begin(), with_graph.end());
  for (const BackwardRow& row : session.rows<BackwardRow>(of_compilation, args))
    record.backwards.push_back(row.backward);
  return verdict_of(record);
}

}  // namespace vitrine::session
