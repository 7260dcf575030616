#include "views/timeline/steps.h"

#include <algorithm>
#include <map>

#include "core/session/stages.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace session;

namespace {

constexpr size_t kFewest = 3;  // steps, of which one lies between the one that compiles and the last

using LaneKind = TimelineLane::Kind;

// When the first call began, which is the timeline's 0.
int64_t zero_of(const kit::SessionData& data, Id run) {
  int64_t out = -1;
  for (const CallRow& row : data.calls.of(run))
    if (row.duration_ns > 0 && row.compilation) out = out < 0 ? row.start_ns : std::min(out, row.start_ns);
  return out;
}

template <class F>
void each_compilation(const kit::SessionData& data, Id run, F f) {
  for (const FrameRow& frame : data.frames.of(run))
    for (const SegmentRow& segment : data.segments.of(frame.id))
      for (const CompilationRow& row : data.compilations.of(segment.id)) f(row);
}

// The place that each step calls first: of those that are called about as often as any, the one that was
// called first.
Id anchor_of(const kit::SessionData& data, const TimelineLane& calls) {
  std::map<Id, std::pair<size_t, int64_t>> places;  // segment -> calls, the first
  for (const Slice& s : calls.slices) {
    const CompilationRow* row = data.compilations.find(s.entity);
    if (!row || row->label.ends_with(" backward") || row->status == "no_graph") continue;
    ++places.try_emplace(row->segment, 0, s.start).first->second.first;
  }
  size_t most = 0;
  for (const auto& [segment, of] : places) most = std::max(most, of.first);
  Id out = 0;
  int64_t first = 0;
  for (const auto& [segment, of] : places)
    if (2 * of.first > most && (!out || of.second < first)) out = segment, first = of.second;
  return out;
}

// Whether a call compiled: one of other sizes does where it waits for the program of expressions, as the
// first sizes that are put into it do, or for one of these sizes alone.
bool compiled_in(const kit::SessionData& data, const CallRow& call) {
  if (call.kind != "sizes") return call.kind == "compile";
  int64_t first = -1;
  for (const InstanceRow& row : data.instances.of(call.compilation)) {
    if (row.ordinal == call.instance && row.how != "instantiated") return true;
    if (row.how == "instantiated" && (first < 0 || row.ordinal < first)) first = row.ordinal;
  }
  return call.instance == first;
}

TimelineLane lane_of(LaneKind kind, const char* label) {
  TimelineLane out;
  out.side = TimelineLane::Side::Compiled;
  out.kind = kind;
  out.label = QString::fromLatin1(label);
  return out;
}

int32_t index_of_stage(const std::string& name) {
  for (size_t i = 0; i < kTimedStages.size(); ++i)
    if (kTimedStages[i].name == name) return static_cast<int32_t>(i);
  return -1;
}

// Stages of all compilations as they happened; those that run beside another one stand in a second row.
TimelineLane compiling_lane(const kit::SessionData& data, Id run, int64_t zero) {
  TimelineLane out = lane_of(LaneKind::Phase, "compiling");
  each_compilation(data, run, [&](const CompilationRow& row) {
    for (const StageRow& stage : data.stages.of(row.id)) {
      const int32_t index = index_of_stage(stage.name);
      if (index < 0 || stage.duration_ns <= 0 || stage.start_ns < zero) continue;
      Slice slice{stage.start_ns - zero, stage.duration_ns};
      slice.entity = row.id, slice.own = -1 - index;
      out.slices.push_back(slice);
    }
  });
  std::stable_sort(out.slices.begin(), out.slices.end(),
                   [](const Slice& a, const Slice& b) { return a.start < b.start; });
  return out;
}

double overlap(const TimelineLane& lane, const ScriptStep& step) {
  double ns = 0;
  for (const Slice& s : lane.slices)
    if (s.depth == 0)
      ns += static_cast<double>(
          std::max<int64_t>(0, std::min(s.end(), step.end) - std::max(s.start, step.start)));
  return ns;
}

}  // namespace

void add_steps(const kit::SessionData& data, Timeline& t) {
  const int64_t zero = zero_of(data, t.run);
  const auto calls = std::find_if(t.lanes.begin(), t.lanes.end(),
                                  [](const TimelineLane& lane) { return lane.kind == LaneKind::Call; });
  if (!t.script || calls == t.lanes.end() || zero < 0) return;
  const Id anchor = anchor_of(data, *calls);
  for (const Slice& s : calls->slices)
    if (const CompilationRow* row = data.compilations.find(s.entity);
        row && row->segment == anchor && !row->label.ends_with(" backward"))
      t.steps.push_back({s.start, t.end_ns});
  for (size_t i = 0; i + 1 < t.steps.size(); ++i) t.steps[i].end = t.steps[i + 1].start;
  each_compilation(data, t.run, [&](const CompilationRow& row) {
    for (ScriptStep& step : t.steps)
      step.compiles |= row.start_ns - zero < step.end && row.start_ns + row.duration_ns - zero > step.start;
  });
  for (const CallRow& call : data.calls.of(t.run)) {
    if (!compiled_in(data, call)) continue;
    const auto later = std::upper_bound(t.steps.begin(), t.steps.end(), call.start_ns - zero,
                                        [](int64_t at, const ScriptStep& step) { return at < step.start; });
    if (later != t.steps.begin()) std::prev(later)->compiles = true;
  }
  std::vector<TimelineLane> above;
  if (t.steps.size() >= kFewest) {
    TimelineLane lane = lane_of(LaneKind::Step, "steps");
    for (size_t i = 0; i < t.steps.size(); ++i) {
      Slice slice{t.steps[i].start, t.steps[i].end - t.steps[i].start};
      slice.own = static_cast<int32_t>(i) + 1;
      lane.slices.push_back(slice);
    }
    above.push_back(std::move(lane));
  } else {
    t.steps.clear();
  }
  if (TimelineLane lane = compiling_lane(data, t.run, zero); !lane.slices.empty())
    above.push_back(std::move(lane));
  for (int* facing : {&t.facing_eager, &t.facing_compiled})
    if (*facing >= 0) *facing += static_cast<int>(above.size());
  t.lanes.insert(t.lanes.begin(), std::make_move_iterator(above.begin()),
                 std::make_move_iterator(above.end()));
}

ScriptStep eager_step(const Timeline& t) {
  ScriptStep out{-1, -1};
  for (const TimelineLane& lane : t.lanes)
    for (const Slice& s : lane.slices) {
      if (lane.side != TimelineLane::Side::Eager) continue;
      out.start = out.start < 0 ? s.start : std::min(out.start, s.start);
      out.end = std::max(out.end, s.end());
    }
  return out;
}

namespace {
// No other one compiles nothing.
bool last_is_steady(const Timeline& t) {
  return !t.steps.empty() && !t.steps.back().compiles &&
         std::all_of(t.steps.begin(), t.steps.end() - 1,
                     [](const ScriptStep& step) { return step.compiles; });
}
}  // namespace

int steady_step(const Timeline& t) {
  if (const int64_t eager = eager_step(t).start; eager >= 0)
    for (size_t i = 0; i < t.steps.size(); ++i)
      if (eager >= t.steps[i].start && eager < t.steps[i].end) return static_cast<int>(i);
  std::vector<int64_t> times;
  // The last one ends where the recording does, which is no end of a step.
  for (size_t i = 0; i + 1 < t.steps.size(); ++i)
    if (!t.steps[i].compiles) times.push_back(t.steps[i].end - t.steps[i].start);
  if (times.empty()) return last_is_steady(t) ? static_cast<int>(t.steps.size()) - 1 : -1;
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  const int64_t median = times[times.size() / 2];
  int out = -1;
  int64_t least = 0;
  for (size_t i = 0; i + 1 < t.steps.size(); ++i) {
    const int64_t off = std::abs(t.steps[i].end - t.steps[i].start - median);
    if (!t.steps[i].compiles && (out < 0 || off < least)) out = static_cast<int>(i), least = off;
  }
  return out;
}

QString steps_text(const Timeline& t) {
  const int steady = steady_step(t);
  if (t.steps.empty()) return {};
  // Of each compilation the first calls are kept: there were more steps than are known.
  QString out = (t.all_kept_until_ns >= 0 ? QStringLiteral("the first ") : QString()) +
                kit::countText(static_cast<int64_t>(t.steps.size()), "step");
  const auto compile =
      std::count_if(t.steps.begin(), t.steps.end(), [](const ScriptStep& s) { return s.compiles; });
  if (compile)
    out += QStringLiteral(", %1 of them %2").arg(compile).arg(compile == 1 ? "compiles" : "compile");
  if (steady < 0 || (last_is_steady(t) && steady + 1 == std::ssize(t.steps))) return out;
  const ScriptStep& step = t.steps[static_cast<size_t>(steady)];
  // Of the others the last one's end is not known.
  const bool alone = std::ssize(t.steps) - compile <= 2;
  return out + (alone ? QStringLiteral("; one that does not takes ") : QStringLiteral("; most take ")) +
         kit::timeText(static_cast<double>(step.end - step.start));
}

QString both_text(const Timeline& t) {
  if (!t.times.has_steps()) return {};
  return QStringLiteral("a step: eager %1, compiled %2, %3")
      .arg(kit::timeText(t.times.eager.step.median_ns), kit::timeText(t.times.compiled.step.median_ns),
           QString::fromStdString(t.times.step_speed_up()));
}

QString step_text(const kit::SessionData& data, const Timeline& t, int index) {
  const ScriptStep& step = t.steps[static_cast<size_t>(index)];
  const auto whole = static_cast<double>(step.end - step.start);
  double rest = whole;
  std::map<QString, double> parts;
  const auto calls = std::find_if(t.lanes.begin(), t.lanes.end(),
                                  [](const TimelineLane& lane) { return lane.kind == LaneKind::Call; });
  if (calls != t.lanes.end()) parts[QStringLiteral("compiled code")] = overlap(*calls, step);
  for (const TimelineLane& lane : t.lanes)
    for (const Slice& s : lane.slices) {
      if (lane.kind != LaneKind::Range || lane.side != TimelineLane::Side::Compiled || s.depth != 0 ||
          s.end() <= step.start || s.start >= step.end)
        continue;
      // A range may hold what is compiled: that was counted.
      const ScriptStep within{std::max(s.start, step.start), std::min(s.end(), step.end)};
      const double inside = calls == t.lanes.end() ? 0 : overlap(*calls, within);
      parts[slice_name(data, s)] += static_cast<double>(within.end - within.start) - inside;
    }
  std::vector<std::pair<double, QString>> order;
  for (const auto& [name, ns] : parts) {
    rest -= ns;
    if (ns > 0) order.emplace_back(ns, name);
  }
  if (rest > 0) order.emplace_back(rest, QStringLiteral("else"));
  std::sort(order.rbegin(), order.rend());
  QStringList words;
  for (const auto& [ns, name] : order) words << kit::timeText(ns) + ' ' + name;
  return kit::timeText(whole) + QStringLiteral(": ") + words.join(QStringLiteral(", ")) +
         (step.compiles ? QStringLiteral("; it compiles") : QString());
}

}  // namespace vitrine::views
