#include "views/kit/layout/graph_routes.h"

#include <algorithm>
#include <cmath>

namespace vitrine::kit {

namespace {

constexpr double kClear = 4;   // a line keeps this distance from a box
constexpr double kStub = 22;   // drawn ends of a lane that is cut
constexpr double kStrip = 64;  // height of a strip of the index

// Boxes by horizontal strips: which ones meet a rectangle.
class Strips {
 public:
  explicit Strips(const std::vector<Box>& boxes) : boxes_(boxes) {
    for (size_t i = 0; i < boxes.size(); ++i) {
      for (size_t s = strip(boxes[i].y); s <= strip(boxes[i].bottom()); ++s) {
        if (strips_.size() <= s) strips_.resize(s + 1);
        strips_[s].push_back(static_cast<int>(i));
      }
    }
  }

  bool blocked(double x0, double y0, double x1, double y1, int a, int b) const {
    for (size_t s = strip(y0); s <= strip(y1) && s < strips_.size(); ++s) {
      for (int i : strips_[s]) {
        const Box& box = boxes_[static_cast<size_t>(i)];
        if (i != a && i != b && box.x < x1 && box.right() > x0 && box.y < y1 && box.bottom() > y0)
          return true;
      }
    }
    return false;
  }

  double right_of(double y0, double y1) const {
    double right = 0;
    for (size_t s = strip(y0); s <= strip(y1) && s < strips_.size(); ++s) {
      for (int i : strips_[s]) right = std::max(right, boxes_[static_cast<size_t>(i)].right());
    }
    return right;
  }

 private:
  static size_t strip(double y) { return static_cast<size_t>(std::max(0.0, y) / kStrip); }
  const std::vector<Box>& boxes_;
  std::vector<std::vector<int>> strips_;
};

struct EdgeLane {
  size_t edge;
  double top, bottom;
};

// Straight down, or down, across just above the target, and down; empty when a box stands in the way.
std::vector<Point> direct(const Box& a, const Box& b, const LayoutMetrics& metrics, const Strips& strips,
                          int from, int to) {
  double x0 = a.middle(), x1 = b.middle(), y0 = a.bottom(), y1 = b.y;
  if (y1 < y0) return {};
  if (std::abs(x0 - x1) < 0.5) {
    if (strips.blocked(x0 - kClear, y0, x0 + kClear, y1, from, to)) return {};
    return {{x0, y0}, {x1, y1}};
  }
  double turn = y1 - metrics.row_gap / 2;
  if (turn < y0) return {};
  if (strips.blocked(x0 - kClear, y0, x0 + kClear, turn, from, to) ||
      strips.blocked(x1 - kClear, turn, x1 + kClear, y1, from, to) ||
      strips.blocked(std::min(x0, x1), turn - 1, std::max(x0, x1), turn + 1, from, to)) {
    return {};
  }
  return {{x0, y0}, {x0, turn}, {x1, turn}, {x1, y1}};
}

// A lane also stays clear of the borders of groups beside it.
double hulls_right(const GraphLayout& layout, const EdgeLane& lane) {
  double right = 0;
  for (const Box& hull : layout.groups) {
    if (hull.y < lane.bottom && hull.bottom() > lane.top) right = std::max(right, hull.right());
  }
  return right;
}

// Tracks for overlapping lanes: shorter lanes stand further in.
std::vector<int> tracks(std::vector<EdgeLane>& lanes) {
  std::stable_sort(lanes.begin(), lanes.end(),
                   [](const EdgeLane& a, const EdgeLane& b) { return a.bottom - a.top < b.bottom - b.top; });
  std::vector<std::vector<EdgeLane>> used;
  std::vector<int> out;
  for (const EdgeLane& lane : lanes) {
    size_t track = 0;
    auto overlaps = [&](const EdgeLane& other) { return lane.top < other.bottom && other.top < lane.bottom; };
    while (track < used.size() && std::any_of(used[track].begin(), used[track].end(), overlaps)) ++track;
    if (track == used.size()) used.emplace_back();
    used[track].push_back(lane);
    out.push_back(static_cast<int>(track));
  }
  return out;
}

// Out at the right, along the lane at x, in from the right; where a neighbour of the row stands between,
// below it or above it.
std::vector<Point> by_lane(const Box& a, const Box& b, double x, const LayoutEdge& edge,
                           const LayoutMetrics& metrics, const Strips& strips) {
  const double y0 = a.y + a.h * 0.75, y1 = b.y + b.h / 2;
  auto blocked = [&](const Box& box, double y) {
    return strips.blocked(box.right(), y - 1, x, y + 1, edge.from, edge.to);
  };
  auto clear = [&](const Box& box, double y) {
    return !strips.blocked(box.middle(), y - 1, x, y + 1, edge.from, edge.to);
  };
  std::vector<Point> out{{a.right(), y0}, {x, y0}};
  const double under = a.bottom() + metrics.row_gap / 2, over = b.y - metrics.row_gap / 2;
  if (blocked(a, y0) && clear(a, under)) out = {{a.middle(), a.bottom()}, {a.middle(), under}, {x, under}};
  if (blocked(b, y1) && clear(b, over))
    out.insert(out.end(), {{x, over}, {b.middle(), over}, {b.middle(), b.y}});
  else
    out.insert(out.end(), {{x, y1}, {b.right(), y1}});
  return out;
}

}  // namespace

void route_edges(const LayoutGraph& graph, const LayoutMetrics& metrics, GraphLayout& layout) {
  Strips strips(layout.nodes);
  layout.edges.assign(graph.edges.size(), {});
  std::vector<EdgeLane> lanes;
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    const LayoutEdge& edge = graph.edges[e];
    const Box &a = layout.nodes[static_cast<size_t>(edge.from)],
              &b = layout.nodes[static_cast<size_t>(edge.to)];
    Route& route = layout.edges[e];
    route.points = direct(a, b, metrics, strips, edge.from, edge.to);
    if (!route.points.empty()) continue;
    double y0 = a.y + a.h * 0.75, y1 = b.y + b.h / 2;
    route.lane = true;
    route.cut = edge.stub || std::abs(y1 - y0) > metrics.longest_lane;
    if (route.cut) {
      route.points = {{a.right(), y0}, {a.right() + kStub, y0}, {b.right() + kStub, y1}, {b.right(), y1}};
    } else {
      lanes.push_back({e, std::min(y0, y1), std::max(y0, y1)});
    }
  }
  auto track = tracks(lanes);
  for (size_t i = 0; i < lanes.size(); ++i) {
    const LayoutEdge& edge = graph.edges[lanes[i].edge];
    const Box &a = layout.nodes[static_cast<size_t>(edge.from)],
              &b = layout.nodes[static_cast<size_t>(edge.to)];
    double x = std::max(strips.right_of(lanes[i].top, lanes[i].bottom), hulls_right(layout, lanes[i])) +
               metrics.lane_clear + metrics.lane_gap * track[i];
    layout.edges[lanes[i].edge].points = by_lane(a, b, x, edge, metrics, strips);
  }
}

}  // namespace vitrine::kit
