#include "core/autodiff/cut_results.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/autodiff/undefined_tangents.h"

namespace vitrine::autodiff {

namespace {

// The graph in which whoever reads a point's gradient reads a new input.
struct OpenedGraph {
  ir::GraphPtr graph;
  std::vector<ir::NodeId> ends;                 // inputs: by tangent, then by view
  std::unordered_set<ir::NodeId> part, viewed;  // inputs: the tangents that are parts of points'; the views
  std::vector<int> end_of;                      // by point: its place in `ends`
};

class Opening {
 public:
  Opening(const ir::Graph& from, const std::vector<ir::NodeId>& tangents, const std::vector<CutPoint>& points)
      : from_(from), points_(points), b_(from.stage, std::make_shared<ir::NodeIds>()) {
    for (const ir::Node& n : from.nodes()) b_.ids()->next = std::max(b_.ids()->next, n.id + 1);
    out_.ends = tangents;
  }

  OpenedGraph run() {
    for (const ir::Node& n : from_.nodes()) {
      if (n.kind == ir::NodeKind::placeholder) b_.add(n);
    }
    for (const CutPoint& point : points_) open(point);
    for (const ir::Node& n : from_.nodes())
      if (n.kind != ir::NodeKind::placeholder && !instead_.contains(n.id)) b_.add(mapped(n));
    std::vector<ir::Arg> results;
    for (const ir::Arg& r : from_.results()) results.push_back(map(r));
    for (const CutPoint& point : points_) results.push_back(map(from_.node(point.whole).args.at(0)));
    out_.graph = b_.finish(std::move(results));
    return std::move(out_);
  }

 private:
  void open(const CutPoint& point) {
    ir::Node node;
    node.kind = ir::NodeKind::placeholder;
    node.name = "whole";
    node.outputs = from_.node(point.whole).outputs;
    node.origin = from_.node(point.whole).origin;
    if (point.tangent >= 0) {
      ir::NodeId& end = out_.ends.at(static_cast<size_t>(point.tangent));
      node.name += "_" + from_.node(end).name;
      node.source = from_.node(end).source;
      out_.part.insert(end);
      out_.end_of.push_back(point.tangent);
      end = add(point, std::move(node));
    } else {
      out_.end_of.push_back(static_cast<int>(out_.ends.size()));
      out_.ends.push_back(add(point, std::move(node)));
      out_.viewed.insert(out_.ends.back());
    }
  }
  ir::NodeId add(const CutPoint& point, ir::Node node) {
    const ir::Ref made = b_.add(std::move(node));
    instead_[point.whole] = made;
    return made.node;
  }
  ir::Arg map(const ir::Arg& arg) const {
    return ir::map_refs(arg, [&](ir::Ref r) {
      const auto it = instead_.find(r.node);
      return ir::Arg(it == instead_.end() ? r : it->second);
    });
  }
  ir::Node mapped(ir::Node node) const {
    for (ir::Arg& a : node.args) a = map(a);
    for (auto& [key, a] : node.kwargs) a = map(a);
    return node;
  }

  const ir::Graph& from_;
  const std::vector<CutPoint>& points_;
  ir::Builder b_;
  std::unordered_map<ir::NodeId, ir::Ref> instead_;  // by the node that gave a point's gradient
  OpenedGraph out_;
};

// The graph without inputs that nothing reads, the tangents in their order behind the others.
ir::GraphPtr with_inputs(const ir::GraphPtr& from, const std::vector<ir::NodeId>& ends,
                         const std::unordered_set<ir::NodeId>& gone) {
  ir::Builder b(from->stage, std::make_shared<ir::NodeIds>());
  for (const ir::Node& n : from->nodes()) b.ids()->next = std::max(b.ids()->next, n.id + 1);
  const std::unordered_set<ir::NodeId> last(ends.begin(), ends.end());
  for (const ir::Node* n : from->inputs())
    if (!last.contains(n->id) && !gone.contains(n->id)) b.add(*n);
  for (ir::NodeId end : ends)
    if (!gone.contains(end)) b.add(from->node(end));
  for (const ir::Node& n : from->nodes())
    if (n.kind != ir::NodeKind::placeholder) b.add(n);
  return b.finish(from->results());
}

// reach: by node, the ends behind it.
std::set<int> reached_by(const std::unordered_map<ir::NodeId, std::set<int>>& reach, const ir::Arg& result) {
  std::set<int> out;
  ir::each_ref(result, [&](ir::Ref r) { out.insert(reach.at(r.node).begin(), reach.at(r.node).end()); });
  return out;
}

// By end, the points between it and the inputs. above, by point: the ends whose pieces have a gradient of it.
std::vector<std::set<int>> closed(const std::vector<std::set<int>>& above, const OpenedGraph& opened) {
  std::vector<std::set<int>> out(opened.ends.size());
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t point = 0; point < above.size(); ++point)
      for (int end : above[point]) {
        std::set<int>& behind = out[static_cast<size_t>(end)];
        const size_t before = behind.size();
        const std::set<int> further = out[static_cast<size_t>(opened.end_of[point])];
        behind.insert(static_cast<int>(point));
        behind.insert(further.begin(), further.end());
        grows = grows || behind.size() != before;
      }
  }
  return out;
}

constexpr const char* kConstant = "a gradient that PyTorch's own backward gives depends on no other";

}  // namespace

Result<Cut> cut_at(const ir::GraphPtr& backward, const std::vector<ir::NodeId>& tangents,
                   const std::vector<CutPoint>& points, const std::vector<std::vector<int>>& passed,
                   bool is_ours) {
  const auto refused = [](const std::string& why) {
    return Error{"a result is computed from another, and " + why, "", ""};
  };
  for (const CutPoint& point : points)
    if (!backward->find(point.whole)) return refused("no gradient depends on that one's");
  OpenedGraph opened = Opening(*backward, tangents, points).run();
  std::vector<ir::NodeId> all = opened.ends;
  all.insert(all.end(), opened.part.begin(), opened.part.end());
  if (std::string why = why_inseparable(*opened.graph, all); !why.empty()) return refused(why);
  ir::GraphPtr graph = without_tangents(opened.graph, all, opened.part);
  graph = with_inputs(graph, opened.ends, opened.part);
  const size_t first = backward->results().size();
  const auto reach = tangents_in(*graph, opened.ends);
  std::vector<std::set<int>> above;
  for (size_t i = 0; i < points.size(); ++i) {
    const ir::Arg& inner = graph->results().at(first + i);
    above.push_back(reached_by(reach, inner));
    if (!above.back().empty() || inner.is_none() || !is_ours) continue;
    for (size_t t = 0; t < passed.size(); ++t)
      if (std::find(passed[t].begin(), passed[t].end(), static_cast<int>(i)) != passed[t].end())
        above.back().insert(static_cast<int>(t));
  }
  const std::vector<std::set<int>> behind = closed(above, opened);
  Cut out;
  for (const CutPoint& point : points) out.tangents.push_back(point.tangent);
  bool any = false;
  for (size_t t = 0; t < tangents.size(); ++t) {
    out.behind.emplace_back(behind[t].begin(), behind[t].end());
    any = any || !behind[t].empty();
    const auto is_lost = [&](int point) {
      return !behind[t].contains(point) && !graph->results()[first + static_cast<size_t>(point)].is_none();
    };
    if (std::any_of(passed[t].begin(), passed[t].end(), is_lost)) return refused(kConstant);
  }
  if (!any) return Cut{};
  for (size_t i = 0; !is_ours && i < first; ++i)
    if (const ir::Arg& gradient = graph->results()[i];
        !gradient.is_none() && reached_by(reach, gradient).empty())
      return refused(kConstant);
  out.backward = with_inputs(without_tangents(graph, opened.ends, opened.viewed), opened.ends, opened.viewed);
  const std::vector<ir::NodeId> kept(opened.ends.begin(),
                                     opened.ends.begin() + static_cast<long>(tangents.size()));
  out.readers = readers_of(*out.backward, kept);
  return out;
}

}  // namespace vitrine::autodiff
