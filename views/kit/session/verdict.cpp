#include "views/kit/session/verdict.h"

namespace vitrine::kit {

using namespace session;

namespace {

BreakContext contextOf(const SessionData& data) {
  BreakContext out;
  out.compilation = [&data](Id id) { return data.compilations.find(id); };
  out.line = [&data](Id id) {
    const InstructionRow* row = data.instructions.find(id);
    const SpanRow* span = row ? data.spans.find(row->span) : nullptr;
    return span ? std::pair{row->code, span->line} : std::pair<Id, int64_t>{};
  };
  return out;
}

std::vector<const BreakRow*> breaksOf(const SessionData& data, Id run) {
  std::vector<const BreakRow*> out;
  for (const BreakRow& row : data.breaks)
    if (!run || data.runOf(row.id) == run) out.push_back(&row);
  return out;
}

}  // namespace

std::vector<BreakCause> breakCauses(const SessionData& data, Id run) {
  return break_causes(breaksOf(data, run), contextOf(data));
}

Verdict verdictOf(const SessionData& data, Id run) {
  const RunRow* row = run ? data.runs.find(run) : data.runs.empty() ? nullptr : &data.runs[0];
  if (!row) return {};
  RunRecord record;
  record.run = row;
  record.context = contextOf(data);
  record.breaks = breaksOf(data, row->id);
  for (const FrameRow& frame : data.frames.of(row->id)) {
    record.frames.push_back(&frame);
    for (const SegmentRow& segment : data.segments.of(frame.id)) {
      record.segments.push_back(&segment);
      for (const CompilationRow& compilation : data.compilations.of(segment.id)) {
        record.compilations.push_back(&compilation);
        if (data.lastGraph(compilation.id, "captured") || data.lastGraph(compilation.id, "aten"))
          record.with_graph.push_back(compilation.id);
        for (const BackwardRow& backward : data.backwards.of(compilation.id))
          record.backwards.push_back(backward.backward);
        for (const RecompilationRow& again : data.recompilations.of(compilation.id))
          record.recompilations.push_back(&again);
      }
    }
  }
  for (const AccuracyRow& accuracy : data.accuracies.of(row->id)) record.accuracies.push_back(&accuracy);
  int64_t steps = 0;
  for (const MeasurementRow& each : data.measurements.of(row->id)) steps += each.kind == "step";
  record.steps = steps > 1;
  return verdict_of(record);
}

}  // namespace vitrine::kit
