#include "views/kit/session/became.h"

#include <algorithm>
#include <tuple>

#include "core/session/launches.h"

namespace vitrine::kit {

using namespace session;

namespace {

// Views, and memory that is taken and given back, launch nothing.
bool works(const LaunchRow& launch, const std::unordered_set<Id>* ran) {
  if (ran && !ran->contains(launch.id)) return false;
  return launch.kernel || launch.kind == "kernel" || launch.kind == "library" || launch.kind == "opaque";
}

// A library's bytes and operations are not counted, so that a product comes first by name.
std::tuple<bool, int64_t, int64_t> workOf(const SessionData& data, const LaunchRow& launch) {
  const KernelRow* kernel = data.kernels.find(launch.kernel);
  return {kernel && kernel->family == "matmul", kernel ? kernel->flops : 0, bytes_moved(launch, kernel)};
}

// What a backward compilation begins with is its half of the joint graph.
const GraphRow* firstAten(const SessionData& data, Id compilation) {
  const char* stage = data.forwardOf(compilation) == compilation ? "aten" : "backward";
  for (const GraphRow& graph : data.graphs.of(compilation))
    if (graph.stage == stage) return &graph;
  return nullptr;
}

// The launches of the compilation that descend from a node, the one that does most of the work first.
std::vector<const LaunchRow*> launchesOf(const SessionData& data, Id compilation, Id node,
                                         const std::unordered_set<Id>* ran) {
  std::vector<const LaunchRow*> out;
  std::unordered_set<Id> seen{node};
  std::vector<Id> frontier{node};
  for (size_t i = 0; i < frontier.size(); ++i)
    for (Id next : data.links.derived(frontier[i])) {
      if (kind_of(next) == Kind::Decision || !seen.insert(next).second) continue;  // a verdict on a pair
      frontier.push_back(next);
      const LaunchRow* launch = data.launches.find(next);
      if (launch && launch->compilation == compilation && works(*launch, ran)) out.push_back(launch);
    }
  std::sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->ordinal < b->ordinal; });
  std::stable_sort(out.begin(), out.end(),
                   [&](auto* a, auto* b) { return workOf(data, *a) > workOf(data, *b); });
  return out;
}

}  // namespace

void Became::add(const SessionData& data, Id compilation, const std::unordered_set<Id>* ran) {
  const GraphRow* aten = firstAten(data, compilation);
  if (!aten) return;
  std::unordered_map<Id, std::vector<Id>> nodes;  // by the launch that does most of the work
  std::unordered_map<Id, Id> descends;            // of a launch, the first node it descends from that has one
  std::vector<Id> order;
  for (const NodeRow& node : data.nodes.of(aten->id)) {
    if (node.kind != "op") continue;
    const auto launches = launchesOf(data, compilation, node.id, ran);
    if (launches.empty()) continue;
    nodes[launches.front()->id].push_back(node.id);
    for (const LaunchRow* launch : launches) descends.try_emplace(launch->id, node.id);
  }
  for (const LaunchRow& launch : data.launches.of(compilation)) {
    if (!works(launch, ran) || !nodes.contains(launch.id)) continue;
    by_launch_[launch.id] = groups_.size();
    for (Id node : nodes[launch.id]) by_node_[node] = groups_.size();
    groups_.push_back({nodes[launch.id], {launch.id}});
  }
  for (const LaunchRow& launch : data.launches.of(compilation)) {
    if (!works(launch, ran) || by_launch_.contains(launch.id)) continue;
    const auto from = descends.find(launch.id);
    const auto group = from == descends.end() ? by_node_.end() : by_node_.find(from->second);
    by_launch_[launch.id] = group == by_node_.end() ? groups_.size() : group->second;
    if (group == by_node_.end())
      groups_.push_back({{}, {launch.id}});
    else
      groups_[group->second].launches.push_back(launch.id);
  }
}

Became Became::of(const SessionData& data, const std::vector<Id>& compilations,
                  const std::unordered_set<Id>* ran) {
  Became out;
  for (Id compilation : compilations) out.add(data, compilation, ran);
  return out;
}

Id Became::launchOf(Id node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? 0 : groups_[found->second].launches.front();
}

const BecameGroup* Became::groupOf(Id launch) const {
  const auto found = by_launch_.find(launch);
  return found == by_launch_.end() ? nullptr : &groups_[found->second];
}

Id Became::firstOf(Id launch) const {
  const BecameGroup* group = groupOf(launch);
  return group ? group->launches.front() : 0;
}

QString operatorName(const NodeRow& node) {
  QString op = QString::fromStdString(node.op.empty() ? node.name : node.op);
  if (op.startsWith(QLatin1String("aten."))) op = op.section('.', 1, 1);
  if (op.startsWith(QLatin1String("native_"))) op.remove(0, 7);
  if (op.startsWith('_')) op.remove(0, 1);
  return op;
}

}  // namespace vitrine::kit
