#include "views/timeline/timeline_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/session/stages.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"
#include "views/timeline/steps.h"

namespace vitrine::views {

using namespace session;

namespace {

// A column may hold anything: ends of slices are sums, and times are drawn as doubles.
constexpr int64_t kMostNs = int64_t{1} << 53;
constexpr size_t kMostSlices = 1'000'000;

TimelineLane read_lane(const kit::SessionData& data, const LaneRow& row) {
  TimelineLane lane;
  lane.side = row.side == "compiled" ? TimelineLane::Side::Compiled : TimelineLane::Side::Eager;
  lane.kind = row.kind == "module"   ? TimelineLane::Kind::Module
              : row.kind == "launch" ? TimelineLane::Kind::Launch
              : row.kind == "stream" ? TimelineLane::Kind::Stream
              : row.kind == "thread" ? TimelineLane::Kind::Thread
              : row.kind == "call"   ? TimelineLane::Kind::Call
              : row.kind == "range"  ? TimelineLane::Kind::Range
              : row.kind == "rank"   ? TimelineLane::Kind::Rank
                                     : TimelineLane::Kind::Api;
  lane.label = QString::fromStdString(row.label);
  auto start = data.texts->column<int64_t>(row.start), duration = data.texts->column<int64_t>(row.duration);
  auto entity = data.texts->column<int64_t>(row.entity), relation = data.texts->column<int64_t>(row.relation);
  auto name = data.texts->column<int32_t>(row.name);
  auto depth = data.texts->column<int8_t>(row.depth);
  const size_t n = std::min({start.size(), duration.size(), name.size(), kMostSlices});
  auto at = [](const auto& column, size_t i) { return i < column.size() ? column[i] : 0; };
  lane.slices.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    lane.slices.push_back(
        {std::clamp(start[i], -kMostNs, kMostNs), std::clamp<int64_t>(duration[i], 0, kMostNs), name[i],
         std::max<int8_t>(0, static_cast<int8_t>(at(depth, i))), at(entity, i), at(relation, i)});
    lane.depths = std::max(lane.depths, lane.slices.back().depth + 1);
  }
  std::stable_sort(lane.slices.begin(), lane.slices.end(),
                   [](const Slice& a, const Slice& b) { return a.start < b.start; });
  int64_t linked_until = -1;
  for (Slice& s : lane.slices) {
    s.inner = !s.entity && s.start < linked_until;
    if (s.entity) linked_until = std::max(linked_until, s.end());
  }
  return lane;
}

// CUDA's names of what puts work on a stream: launches, copies, memsets.
bool enqueues(const QString& name) {
  for (const char* word : {"Launch", "Memcpy", "Memset"})
    if (name.contains(QLatin1String(word))) return true;
  return false;
}

// One entity's calls and what they started are in the same order: the first call that is still free.
void add_arrows(const kit::SessionData& data, Timeline& t) {
  std::map<std::pair<TimelineLane::Side, Id>, std::vector<std::pair<int, size_t>>> calls;
  for (size_t l = 0; l < t.lanes.size(); ++l)
    for (size_t i = 0; t.lanes[l].kind == TimelineLane::Kind::Api && i < t.lanes[l].slices.size(); ++i)
      if (const Slice& s = t.lanes[l].slices[i]; s.entity && enqueues(slice_name(data, s)))
        calls[{t.lanes[l].side, s.entity}].emplace_back(static_cast<int>(l), i);
  std::map<std::pair<TimelineLane::Side, Id>, size_t> used;
  for (size_t l = 0; l < t.lanes.size(); ++l)
    for (size_t i = 0; t.lanes[l].kind == TimelineLane::Kind::Stream && i < t.lanes[l].slices.size(); ++i) {
      const Slice& s = t.lanes[l].slices[i];
      const auto it = calls.find({t.lanes[l].side, s.entity});
      if (!s.entity || it == calls.end()) continue;
      size_t& next = used[it->first];
      if (next >= it->second.size()) continue;
      const auto [lane, call] = it->second[next];
      if (t.lanes[static_cast<size_t>(lane)].slices[call].start > s.start) continue;
      t.arrows.push_back({lane, static_cast<int>(l), call, i});
      ++next;
    }
}

// What a call of a compilation has for temporaries, in the arena and beside it, as bytes by launch: +b from
// the launch that makes it, -b from the one behind its last reader. What is made in place of another ends
// that.
std::map<int64_t, double> temporary_changes(const kit::SessionData& data, Id compilation) {
  std::unordered_map<Id, int64_t> taken;  // buffer -> the launch that writes over it
  for (const BufferRow& buffer : data.buffers.of(compilation))
    if (buffer.reuses) taken.emplace(buffer.reuses, buffer.first);
  std::set<int64_t> views;  // have no memory of their own
  for (const LaunchRow& launch : data.launches.of(compilation))
    if (launch.kind == "view") views.insert(launch.ordinal);
  std::map<int64_t, double> out;
  for (const BufferRow& buffer : data.buffers.of(compilation)) {
    if (buffer.kind != "temporary" || (buffer.offset < 0 && views.contains(buffer.first))) continue;
    const auto over = taken.find(buffer.id);
    const int64_t end = over == taken.end() ? buffer.last + 1 : std::min(buffer.last + 1, over->second);
    out[buffer.first] += static_cast<double>(buffer.bytes);
    out[end] -= static_cast<double>(buffer.bytes);
  }
  return out;
}

// What is in use of the memory for temporaries, over the launches of the compiled lane, call by call. The
// peak is that memory's size, which all views name.
void add_memory(const kit::SessionData& data, Timeline& t) {
  if (t.facing_compiled < 0) return;
  struct Call {
    std::map<int64_t, double> changes;
    std::map<int64_t, double>::iterator next;
    int64_t launch = -1, end = 0;
    double now = 0;
  };
  std::map<Id, Call> calls;
  std::map<int64_t, double> change;
  auto until = [&](Call& call, int64_t launch, int64_t at) {
    for (; call.next != call.changes.end() && call.next->first <= launch; ++call.next) {
      change[at] += call.next->second;
      call.now += call.next->second;
    }
  };
  auto finish = [&](Call& call) {
    change[call.end] -= call.now;
    call.now = 0;
    call.next = call.changes.begin();
    call.launch = -1;
  };
  for (const Slice& s : t.lanes[static_cast<size_t>(t.facing_compiled)].slices) {
    const LaunchRow* launch = data.launches.find(s.entity);
    if (!launch) continue;
    auto [it, added] = calls.try_emplace(launch->compilation);
    Call& call = it->second;
    if (added) {
      call.changes = temporary_changes(data, launch->compilation);
      call.next = call.changes.begin();
      t.memory_peak =
          std::max(t.memory_peak, static_cast<double>(data.countOf(launch->compilation, "memory")));
    }
    if (launch->ordinal < call.launch) finish(call);
    until(call, launch->ordinal, s.start);
    call.launch = launch->ordinal;
    call.end = s.end();
  }
  for (auto& [compilation, call] : calls) finish(call);
  double now = 0;
  for (const auto& [at, by] : change) {
    now += by;
    t.memory.emplace_back(at, now);
  }
}

// A script is not run twice for a measurement, and one that was cancelled tells of no lanes; what is known of
// its time are the calls of what was compiled.
void add_calls(const kit::SessionData& data, Timeline& t) {
  const RunRow* run = data.runs.find(t.run);
  if (run && run->device.find("compiled only") != std::string::npos) return;  // they ran elsewhere
  TimelineLane lane;
  lane.side = TimelineLane::Side::Compiled;
  lane.kind = TimelineLane::Kind::Call;
  lane.label = QStringLiteral("calls");
  for (const CallRow& row : data.calls.of(t.run))
    if (row.duration_ns > 0 && row.compilation)
      lane.slices.push_back({row.start_ns, row.duration_ns, 0, 0, row.compilation});
  std::stable_sort(lane.slices.begin(), lane.slices.end(),
                   [](const Slice& a, const Slice& b) { return a.start < b.start; });
  if (lane.slices.empty()) return;
  const int64_t first = lane.slices.front().start;
  for (Slice& s : lane.slices) {
    s.start -= first;
    t.end_ns = std::max(t.end_ns, s.end());
  }
  t.lanes.push_back(std::move(lane));
}

// When the first compilation of a script had as many calls as are kept of it.
void find_hidden_calls(const kit::SessionData& data, Timeline& t) {
  std::map<Id, std::pair<int64_t, int64_t>> kept;  // how many, and the end of the last
  for (const TimelineLane& lane : t.lanes)
    for (const Slice& s : lane.slices) {
      if (lane.kind != TimelineLane::Kind::Call) continue;
      auto& [calls, end] = kept[s.entity];
      ++calls, end = std::max(end, s.end());
    }
  for (const auto& [id, of] : kept) {
    const CompilationRow* row = data.compilations.find(id);
    if (!row || row->calls <= of.first) continue;
    t.all_kept_until_ns = t.all_kept_until_ns < 0 ? of.second : std::min(t.all_kept_until_ns, of.second);
  }
}

// Eager above compiled. Of a script that ran eagerly too, its launches come before its calls: they face
// eager's operators.
void sort_lanes(std::vector<const LaneRow*>& rows) {
  const bool both =
      std::any_of(rows.begin(), rows.end(), [](const LaneRow* row) { return row->side != "compiled"; });
  auto place = [both](const LaneRow& row) {
    const bool compiled = row.side == "compiled";
    const bool behind = both && compiled && (row.kind == "call" || row.kind == "range");
    return std::tuple(compiled, behind || row.kind == "rank", row.ordinal);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const LaneRow* a, const LaneRow* b) { return place(*a) < place(*b); });
}

QString why_no_eager(const RunRow& run) {
  if (run.status == "running") return QStringLiteral("not measured yet: the run has not come to it");
  if (run.eager_ns > 0 && run.status == "finished")
    return QStringLiteral("nothing to show: a call runs no operator of PyTorch");
  if (run.entry == "script")
    return QStringLiteral("not recorded: `vitrine run --eager-too` runs a script once more, eagerly");
  return run.status == "finished" ? QStringLiteral("not measured")
                                  : QStringLiteral("not measured: the run ended before it");
}

}  // namespace

void relate(Timeline& t) {
  if (t.facing_eager < 0 || t.facing_compiled < 0) return;
  // Of a script eager's side is one step, and what replaced it is that step's.
  const int step = t.script ? steady_step(t) : -1;
  auto faces = [&](const Slice& s) {
    if (step < 0) return true;
    const ScriptStep& of = t.steps[static_cast<size_t>(step)];
    return s.start >= of.start && s.start < of.end;
  };
  const auto& eager = t.lanes[static_cast<size_t>(t.facing_eager)].slices;
  const auto& compiled = t.lanes[static_cast<size_t>(t.facing_compiled)].slices;
  // A launch runs once for each call of its code, and eager's slices come in the same order: the first part
  // of them is the first call's.
  struct Calls {
    std::vector<size_t> slices;
    size_t eager = 0, met = 0;
  };
  std::unordered_map<Id, Calls> by_launch;
  for (size_t i = 0; i < compiled.size(); ++i)
    if (compiled[i].entity && faces(compiled[i])) by_launch[compiled[i].entity].slices.push_back(i);
  for (const Slice& s : eager)
    if (auto it = by_launch.find(s.relation); s.entity && it != by_launch.end()) ++it->second.eager;
  for (size_t i = 0; i < eager.size(); ++i) {
    if (!eager[i].entity) continue;
    auto it = by_launch.find(eager[i].relation);
    if (it == by_launch.end()) {
      t.unneeded.push_back(i);
      continue;
    }
    Calls& calls = it->second;
    t.ribbons.push_back({i, calls.slices[calls.met++ * calls.slices.size() / calls.eager]});
  }
}

TimelinePtr load_timeline(const kit::SessionData& data, Id run) {
  auto out = std::make_shared<Timeline>();
  out->run = run;
  out->of_import = data.imported();
  if (const RunRow* row = data.runs.find(run)) {
    out->eager_ns = row->eager_ns;
    out->compiled_ns = row->compiled_ns;
    out->why_no_eager = why_no_eager(*row);
    out->times = kit::runTimes(data, run);
    out->profiled_eager_ns = out->times.eager.kept_ns;
    out->profiled_compiled_ns = out->times.compiled.kept_ns;
  }
  std::vector<const LaneRow*> rows;
  for (const LaneRow& row : data.lanes.of(run)) rows.push_back(&row);
  sort_lanes(rows);
  for (const LaneRow* row : rows) {
    TimelineLane lane = read_lane(data, *row);
    if (lane.slices.empty()) continue;
    for (const Slice& s : lane.slices) out->end_ns = std::max(out->end_ns, s.end());
    int index = static_cast<int>(out->lanes.size());
    // On a GPU its streams face each other, else operators and launches; eager's come last, compiled ones
    // first.
    const bool faces = lane.kind == TimelineLane::Kind::Stream ||
                       lane.kind == (lane.side == TimelineLane::Side::Eager ? TimelineLane::Kind::Thread
                                                                            : TimelineLane::Kind::Launch);
    if (faces && lane.side == TimelineLane::Side::Eager) out->facing_eager = index;
    if (faces && lane.side == TimelineLane::Side::Compiled && out->facing_compiled < 0)
      out->facing_compiled = index;
    out->lanes.push_back(std::move(lane));
  }
  if (out->lanes.empty()) add_calls(data, *out);
  for (const TimelineLane& lane : out->lanes)
    out->script = out->script || lane.kind == TimelineLane::Kind::Call;
  add_steps(data, *out);
  for (size_t l = 0; l < out->lanes.size(); ++l)
    for (size_t i = 0; i < out->lanes[l].slices.size(); ++i)
      if (const Id id = out->lanes[l].slices[i].entity) out->first_of.try_emplace(id, static_cast<int>(l), i);
  if (out->script) find_hidden_calls(data, *out);
  relate(*out);
  add_arrows(data, *out);
  add_memory(data, *out);
  return out;
}

TimelinePtr shifted(const Timeline& timeline, int64_t by_ns) {
  auto out = std::make_shared<Timeline>(timeline);
  out->inserted_ns = by_ns;
  for (TimelineLane& lane : out->lanes)
    for (Slice& s : lane.slices) {
      s.start += lane.side == TimelineLane::Side::Compiled ? by_ns : 0;
      out->end_ns = std::max(out->end_ns, s.end());
    }
  for (auto& [at, bytes] : out->memory) at += by_ns;
  return out;
}

QString end_words(const Timeline& t, TimelineLane::Side side, bool shorter) {
  const bool eager = side == TimelineLane::Side::Eager;
  QStringList words;
  if (!eager && t.eager_ns > 0 && t.compiled_ns > 0) {
    const double by = t.compiled_ns - t.eager_ns;
    const QString speed_up = QString::fromStdString(t.times.speed_up.words());
    words << kit::signedText(kit::timeText(std::abs(by)), by);
    if (!speed_up.isEmpty()) words << speed_up;
  }
  const double ns = eager ? t.profiled_eager_ns : t.profiled_compiled_ns;
  if (ns > 0 && !shorter) {
    const double of_median = (eager ? t.times.eager : t.times.compiled).ratio();
    words << QStringLiteral("profiled: ") + kit::timeText(ns);
    if (of_median > 0) words << kit::ratioText(of_median) + QStringLiteral(" of the median");
  }
  return words.join(QStringLiteral(", "));
}

QString slice_name(const kit::SessionData& data, const Slice& slice) {
  if (slice.own > 0) return QString::number(slice.own);
  if (slice.own < 0) {
    const std::string_view title = kTimedStages[static_cast<size_t>(-1 - slice.own)].title;
    return vitrine::s(title);
  }
  QString out = slice.name ? QString::fromStdString(data.name(slice.name)) : data.label(slice.entity);
  if (const CompilationRow* row = data.compilations.find(slice.entity);
      row && out.endsWith(vitrine::s(row->label)))
    out = out.chopped(vitrine::s(row->label).size()) + kit::compilationName(data, row->id);
  return out;
}

kit::NodeFamily slice_family(const kit::SessionData& data, const Slice& slice) {
  size_t row = static_cast<size_t>(slice.name) - 1;
  return row < data.names.size() ? kit::familyOf(data.names[row].family) : kit::NodeFamily::None;
}

}  // namespace vitrine::views
