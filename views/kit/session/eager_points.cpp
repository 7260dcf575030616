#include "views/kit/session/eager_points.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "views/kit/session/became.h"

namespace vitrine::kit {

using namespace session;

namespace {

// What an operator reads and writes.
std::unordered_map<Id, double> bytes_of(const SessionData& data, Id graph) {
  std::unordered_map<Id, double> out;
  std::unordered_map<Id, std::set<std::pair<Id, int64_t>>> read;
  for (const EdgeRow& edge : data.edges.of(graph))
    if (read[edge.dst].insert({edge.src, edge.bytes}).second)
      out[edge.dst] += static_cast<double>(edge.bytes);
  for (const NodeRow& node : data.nodes.of(graph)) out[node.id] += static_cast<double>(node.bytes);
  return out;
}

}  // namespace

std::unordered_map<Id, double> eager_times(const SessionData& data, Id run) {
  std::unordered_map<Id, double> out;
  const auto lanes = data.lanes.of(run);
  const bool gpu = std::any_of(lanes.begin(), lanes.end(), [](const LaneRow& lane) {
    return lane.side == "eager" && lane.kind == "stream";
  });
  for (const LaneRow& lane : lanes) {
    if (lane.side != "eager" || lane.kind != (gpu ? "stream" : "thread") || !data.texts) continue;
    const auto entities = data.texts->column<int64_t>(lane.entity),
               durations = data.texts->column<int64_t>(lane.duration);
    for (size_t i = 0; i < std::min(entities.size(), durations.size()); ++i)
      if (entities[i]) out[entities[i]] += static_cast<double>(std::max<int64_t>(0, durations[i]));
  }
  return out;
}

std::vector<EagerPoint> eager_points(const SessionData& data, Id compilation) {
  std::vector<EagerPoint> out;
  const auto times = eager_times(data, data.runOf(compilation));
  if (times.empty()) return out;
  const Became became = Became::of(data, {compilation});
  for (const GraphRow& graph : data.graphs.of(compilation)) {
    const char* first = data.forwardOf(compilation) == compilation ? "aten" : "backward";
    if (graph.stage != first || !graph.pass.empty()) continue;
    const auto bytes = bytes_of(data, graph.id);
    for (const NodeRow& node : data.nodes.of(graph.id)) {
      const auto time = times.find(node.id);
      if (node.kind != "op" || node.flops <= 0 || time == times.end() || time->second <= 0) continue;
      const LaunchRow* launch = data.launches.find(became.launchOf(node.id));
      const auto moved = bytes.find(node.id);
      if (moved == bytes.end() || moved->second <= 0) continue;
      out.push_back({node.id, launch ? launch->kernel : 0, time->second, moved->second,
                     static_cast<double>(node.flops)});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.ns > b.ns; });
  return out;
}

}  // namespace vitrine::kit
