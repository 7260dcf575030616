#include "views/graph/rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "views/kit/layout/graph_routes.h"

namespace vitrine::views {

using namespace session;

namespace {

constexpr double kGap = 16;                      // between rows, also across a hull's border
constexpr double kHullSide = 8, kHullAbove = 6;  // of a hull around its rows
constexpr double kLongestLane = 900;             // a longer edge is drawn as its two ends

// What is placed together: the loops of a kernel, or one node.
struct PlacedUnit {
  std::vector<const NodeRow*> members;
  std::set<int> after;  // units that read it
  int waits = 0;
};

class Orderer {
 public:
  Orderer(const kit::SessionData& data, const GraphRow& graph) : data_(data), graph_(graph) {
    const auto labels = kernel_labels(data, graph.compilation);
    std::map<std::string, int> of_kernel;
    for (const NodeRow& node : data.nodes.of(graph.id)) {
      if (is_weight(node) || node.kind == "output") continue;
      row_[node.id] = &node;
      if (node.kind != "op") continue;
      auto label = labels.find(node.stable);
      const bool kernel = label != labels.end() && label->second.starts_with("K");
      int unit = static_cast<int>(units_.size());
      if (kernel) unit = of_kernel.try_emplace(label->second, unit).first->second;
      if (unit == static_cast<int>(units_.size())) units_.emplace_back();
      units_[static_cast<size_t>(unit)].members.push_back(&node);
      unit_of_[node.id] = unit;
    }
    for (const EdgeRow& edge : data.edges.of(graph.id)) {
      auto from = unit_of_.find(edge.src), to = unit_of_.find(edge.dst);
      if (to != unit_of_.end() && from == unit_of_.end() && row_.contains(edge.src))
        inputs_[edge.dst].push_back(edge.src);
      if (from == unit_of_.end() || to == unit_of_.end() || from->second == to->second) continue;
      if (units_[static_cast<size_t>(from->second)].after.insert(to->second).second)
        ++units_[static_cast<size_t>(to->second)].waits;
    }
  }

  // Of the units that can run, the one that the program names first.
  std::vector<const NodeRow*> run() {
    std::set<int> ready;
    for (size_t u = 0; u < units_.size(); ++u)
      if (!units_[u].waits) ready.insert(static_cast<int>(u));
    std::vector<bool> done(units_.size());
    while (!ready.empty()) {
      const int u = *ready.begin();
      ready.erase(ready.begin());
      done[static_cast<size_t>(u)] = true;
      emit(units_[static_cast<size_t>(u)]);
      for (int next : units_[static_cast<size_t>(u)].after)
        if (--units_[static_cast<size_t>(next)].waits == 0) ready.insert(next);
    }
    for (size_t u = 0; u < units_.size(); ++u)  // of a damaged session: a cycle
      if (!done[u]) emit(units_[u]);
    for (const NodeRow& node : data_.nodes.of(graph_.id))  // inputs that nothing reads
      if (row_.contains(node.id) && !seen_.contains(node.id)) out_.push_back(&node);
    return std::move(out_);
  }

 private:
  void emit(const PlacedUnit& unit) {
    for (const NodeRow* node : unit.members)
      for (Id input : inputs_[node->id])
        if (seen_.insert(input).second) out_.push_back(row_[input]);
    for (const NodeRow* node : unit.members)
      if (seen_.insert(node->id).second) out_.push_back(node);
  }

  const kit::SessionData& data_;
  const GraphRow& graph_;
  std::vector<PlacedUnit> units_;
  std::unordered_map<Id, int> unit_of_;
  std::unordered_map<Id, const NodeRow*> row_;
  std::unordered_map<Id, std::vector<Id>> inputs_;
  std::unordered_set<Id> seen_;
  std::vector<const NodeRow*> out_;
};

}  // namespace

std::unordered_map<int64_t, std::string> kernel_labels(const kit::SessionData& data, Id compilation) {
  std::unordered_map<int64_t, std::string> out;
  if (const GraphRow* fused = data.lastGraph(compilation, "fused"))
    for (const NodeRow& node : data.nodes.of(fused->id))
      if (!node.group_label.empty()) out[node.stable] = node.group_label;
  return out;
}

std::vector<const NodeRow*> row_order(const kit::SessionData& data, const GraphRow& graph) {
  return Orderer(data, graph).run();
}

kit::GraphLayout layout_rows(const Scene& scene) {
  kit::LayoutMetrics metrics;
  metrics.row_gap = kGap;
  metrics.longest_lane = kLongestLane;
  metrics.lane_clear += scene.groups.empty() ? kHullSide : 0;  // lanes stand where hulls will leave them
  const auto& nodes = scene.layout.nodes;
  double widest = 0;
  for (const kit::LayoutNode& node : nodes) widest = std::max(widest, node.width);
  const double left = metrics.margin + kHullSide;
  kit::GraphLayout out;
  double y = metrics.margin;
  out.groups.resize(scene.layout.groups.size());
  for (const kit::LayoutNode& node : nodes) {
    const kit::Box box{left + (widest - node.width) / 2, y, node.width, node.height};
    out.nodes.push_back(box);
    y += node.height + kGap;
    if (node.group < 0) continue;
    kit::Box& hull = out.groups[static_cast<size_t>(node.group)];
    const double bottom = box.bottom() + kHullAbove;
    if (hull.w == 0) hull = {left - kHullSide, box.y - kHullAbove, widest + 2 * kHullSide, 0};
    hull.h = bottom - hull.y;
  }
  kit::route_edges(scene.layout, metrics, out);
  out.height = y - kGap + metrics.margin;
  out.width = left + widest + kHullSide + metrics.margin;
  for (const kit::Route& route : out.edges)
    for (const kit::Point& p : route.points) out.width = std::max(out.width, p.x + metrics.margin);
  return out;
}

}  // namespace vitrine::views
