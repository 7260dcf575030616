#include "views/kit/session/range_work.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "views/kit/text/numbers.h"

namespace vitrine::kit {

using namespace session;

namespace {

struct Piece {
  int64_t from, to;
  void add(RangeWork& work, Id id, int64_t start, int64_t duration) const {
    const int64_t begin = std::max(start, from), end = std::min(start + std::max<int64_t>(0, duration), to);
    if (!id || begin >= end) return;
    AtWork& at = work[id];
    at.ns += static_cast<double>(end - begin);
    ++at.times;
  }
};

// A launch stands in the lane of calls of CUDA, too: of a side with streams these are what is at work.
bool counts(const LaneRow& lane, const std::set<std::string>& with_streams) {
  if (lane.kind == "stream" || lane.kind == "call") return true;
  return !with_streams.contains(lane.side) && (lane.kind == "thread" || lane.kind == "launch");
}

void add_lanes(const SessionData& data, Id run, const Piece& piece, RangeWork& work) {
  std::set<std::string> with_streams;
  for (const LaneRow& lane : data.lanes.of(run))
    if (lane.kind == "stream") with_streams.insert(lane.side);
  for (const LaneRow& lane : data.lanes.of(run)) {
    if (!counts(lane, with_streams)) continue;
    const auto start = data.texts->column<int64_t>(lane.start),
               duration = data.texts->column<int64_t>(lane.duration),
               entity = data.texts->column<int64_t>(lane.entity);
    const size_t slices = std::min({start.size(), duration.size(), entity.size()});
    for (size_t i = 0; i < slices; ++i) piece.add(work, entity[i], start[i], duration[i]);
  }
}

// A run without lanes has its calls on the timeline, the first at 0.
void add_calls(const SessionData& data, Id run, const Piece& piece, RangeWork& work) {
  int64_t first = INT64_MAX;
  for (const CallRow& row : data.calls.of(run))
    if (row.duration_ns > 0 && row.compilation) first = std::min(first, row.start_ns);
  for (const CallRow& row : data.calls.of(run))
    if (row.duration_ns > 0) piece.add(work, row.compilation, row.start_ns - first, row.duration_ns);
}

// Of a call whose launches are not on the timeline the medians of these are known.
void add_launches_of_calls(const SessionData& data, RangeWork& work) {
  const RangeWork seen = work;
  for (const auto& [id, calls] : seen) {
    if (!data.compilations.find(id)) continue;
    const auto plan = data.launches.of(id);
    if (std::any_of(plan.begin(), plan.end(), [&](const LaunchRow& l) { return seen.contains(l.id); }))
      continue;
    for (const LaunchRow& launch : plan)
      work[launch.id] = {launch.median_ns * static_cast<double>(calls.times), calls.times, true};
  }
}

void add(RangeWork& work, Id id, const AtWork& part) {
  if (!id) return;
  AtWork& at = work[id];
  at.ns += part.ns;
  at.times += part.times;
  at.of_medians |= part.of_medians;
}

// The kernels that compute a node, by what stems from it.
std::vector<Id> kernelsFrom(const SessionData& data, Id node) {
  std::vector<Id> out, open{node};
  std::unordered_set<Id> seen{node};
  for (size_t i = 0; i < open.size(); ++i)
    for (const Id next : data.links.derived(open[i])) {
      if (kind_of(next) == Kind::Decision || !seen.insert(next).second) continue;
      if (data.kernels.find(next))
        out.push_back(next);
      else
        open.push_back(next);
    }
  return out;
}

// A pair that is one kernel has that kernel's time, any other the time of both.
void add_decisions(const SessionData& data, Id compilation, RangeWork& work) {
  std::unordered_map<Id, std::vector<Id>> kernels;
  for (const DecisionRow& decision : data.decisions.of(compilation)) {
    std::set<Id> both;
    if (decision.kernel) both.insert(decision.kernel);
    for (const Id side : {decision.a, decision.b}) {
      if (decision.kernel) break;
      const auto [known, added] = kernels.try_emplace(side);
      if (added) known->second = kernelsFrom(data, side);
      both.insert(known->second.begin(), known->second.end());
    }
    for (const Id kernel : both)
      if (const auto at = work.find(kernel); at != work.end()) add(work, decision.id, AtWork(at->second));
  }
}

// What is alive while a launch of the piece runs.
void add_buffers(const SessionData& data, Id compilation, const std::map<int64_t, AtWork>& launched,
                 RangeWork& work) {
  for (const BufferRow& buffer : data.buffers.of(compilation)) {
    const auto to = launched.upper_bound(buffer.last);
    for (auto at = launched.lower_bound(buffer.first); at != to && buffer.first <= buffer.last; ++at)
      add(work, buffer.id, at->second);
  }
}

// Kernels by their launches, decisions by the kernels, buffers by the launches that they live through.
void add_owners(const SessionData& data, RangeWork& work) {
  const RangeWork seen = work;
  std::map<Id, std::map<int64_t, AtWork>> launched;  // by compilation and place in its plan
  for (const auto& [id, part] : seen) {
    const LaunchRow* launch = data.launches.find(id);
    if (!launch) continue;
    add(work, launch->kernel, part);
    launched[launch->compilation].emplace(launch->ordinal, part);
  }
  for (const auto& [compilation, places] : launched) {
    add_decisions(data, compilation, work);
    add_buffers(data, compilation, places, work);
  }
}

}  // namespace

RangeWork rangeWork(const SessionData& data, Id run, int64_t from_ns, int64_t to_ns) {
  RangeWork work;
  if (!data.texts || from_ns >= to_ns) return work;
  const Piece piece{from_ns, to_ns};
  if (data.lanes.of(run).empty())
    add_calls(data, run, piece, work);
  else
    add_lanes(data, run, piece, work);
  add_launches_of_calls(data, work);
  add_owners(data, work);
  return work;
}

QString rangeText(int64_t from_ns, int64_t to_ns) {
  const MeasureUnit unit = timeUnit(static_cast<double>(to_ns));
  return unit.format(static_cast<double>(from_ns)) + QStringLiteral("–") +
         unit.text(static_cast<double>(to_ns));
}

}  // namespace vitrine::kit
