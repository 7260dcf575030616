#include "views/kit/session/run_times.h"

#include <algorithm>
#include <map>

#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::kit {

using namespace session;

namespace {

template <class Rows>
auto copied(const Rows& rows) {
  return std::vector(rows.begin(), rows.end());
}

template <class F>
void eachCompilation(const SessionData& data, Id run, F f) {
  for (const FrameRow& frame : data.frames.of(run))
    for (const SegmentRow& segment : data.segments.of(frame.id))
      for (const CompilationRow& row : data.compilations.of(segment.id)) f(row);
}

}  // namespace

RunTimes runTimes(const SessionData& data, Id run) {
  const RunRow* row = data.runs.find(run);
  if (!row && !data.runs.empty()) row = &data.runs[0];
  if (!row) return {};
  return times_of(*row, copied(data.timings.of(row->id)), copied(data.measurements.of(row->id)), data.meta);
}

QString shownCallText(const SessionData& data, Id run) {
  const RunTimes times = runTimes(data, run);
  const QString basis = s(times.basis("compiled")), doubt = s(times.short_doubt(TimesOf::ShownCall));
  return basis.isEmpty() || doubt.isEmpty() ? basis + doubt : basis + "; " + doubt;
}

QString launchTimesText(const SessionData& data, Id compilation) {
  const std::string basis = runTimes(data, data.runOf(compilation)).basis("compiled");
  if (!basis.empty()) return s(basis);
  int64_t calls = 0;
  for (const LaunchRow& launch : data.launches.of(compilation)) calls = std::max(calls, launch.calls);
  return calls ? QStringLiteral("medians of %1").arg(countText(calls, "kept call")) : QString();
}

QString shortDoubt(const SessionData& data, Id run, TimesOf what) {
  return s(runTimes(data, run).short_doubt(what));
}

QString fullDoubt(const SessionData& data, Id run, TimesOf what) {
  return s(runTimes(data, run).doubt(what));
}

QString middleHalf(double lower_ns, double upper_ns, int64_t calls) {
  if (calls < 2 || lower_ns <= 0) return {};
  Extent both;
  both.add(lower_ns), both.add(upper_ns);
  const MeasureUnit unit = timeTextUnit(both);
  return QStringLiteral("%1 to %2").arg(unit.format(lower_ns), unit.text(upper_ns));
}

QString middleHalf(const MeasurementRow& calls) {
  return middleHalf(calls.lower_ns, calls.upper_ns, calls.calls);
}

QString keptCalls(const SessionData& data, Id run) {
  std::map<Id, int64_t> kept;
  for (const CallRow& row : data.calls.of(run)) ++kept[row.compilation];
  int64_t all = 0, rows = 0;
  eachCompilation(data, run, [&](const CompilationRow& row) {
    all += std::max(row.calls, kept[row.id]);
    rows += kept[row.id];
  });
  return rows < all ? QStringLiteral("%1 of %2 calls kept").arg(rows).arg(all) : QString();
}

QString compilationName(const SessionData& data, Id compilation) {
  const CompilationRow* row = data.compilations.find(compilation);
  const SegmentRow* segment = row ? data.segments.find(row->segment) : nullptr;
  if (!segment) return {};
  int frames = 0;
  for (const FrameRow& frame : data.frames.of(data.runOf(compilation))) {
    const auto parts = data.segments.of(frame.id);
    frames += std::any_of(parts.begin(), parts.end(),
                          [&](const SegmentRow& part) { return !data.compilations.of(part.id).empty(); });
    if (frames > 1) break;
  }
  return frames > 1 ? data.label(segment->frame) + QStringLiteral(" ") + s(row->label) : s(row->label);
}

QString whichOf(const SessionData& data, Id compilation) {
  const CompilationRow* row = data.compilations.find(compilation);
  if (!row) return {};
  int64_t all = 0;
  eachCompilation(data, data.runOf(compilation), [&](const CompilationRow&) { ++all; });
  return all > 1 ? QStringLiteral("%1 of %2").arg(compilationName(data, compilation)).arg(all)
                 : s(row->label);
}

}  // namespace vitrine::kit
