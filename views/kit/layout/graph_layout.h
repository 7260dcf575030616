// Where the boxes and lines of a graph stand. A pure, deterministic function of sizes and edges; no Qt, no
// session.
//
// Top to bottom, by rank: a node stands one rank below the lowest of its producers. Within a rank the order
// follows the producers' positions (barycentre sweeps), and each box moves as near to the middle of its
// neighbours as the others allow (isotonic regression, so the sum of squared distances is least). A group is
// laid out by itself and then stands in its parent like one large node. Edges between neighbours run straight
// or with one bend; an edge with something in its way runs in a lane at the right, enters its target from the
// right, and lanes that overlap in height get neighbouring tracks, unless it is one of many at one end. Ties
// are broken by execution order, so a small change of the graph moves little.
#pragma once

#include <functional>
#include <vector>

namespace vitrine::kit {

struct Point {
  double x = 0, y = 0;
};
struct Box {
  double x = 0, y = 0, w = 0, h = 0;
  double right() const { return x + w; }
  double bottom() const { return y + h; }
  double middle() const { return x + w / 2; }
};

struct LayoutNode {
  double width = 0, height = 0;
  double left_extra = 0;  // room kept free at its left, for pills
  int group = -1;         // index into groups, -1 = none
};
struct LayoutGroup {
  int parent = -1;
  double pad_top = 30, pad = 8;  // inside its border; a title of 16 pixels fits at half the size
};
struct LayoutEdge {
  int from = 0, to = 0;  // indices into nodes
  bool stub = false;     // one of many at the same end: never a lane, only its two ends
};
// Nodes in execution order: a producer stands before its consumers. So do the items of a container, whichever
// of them ran first, unless they read each other: an edge that still goes backwards only gets a lane.
struct LayoutGraph {
  std::vector<LayoutNode> nodes;
  std::vector<LayoutGroup> groups;
  std::vector<LayoutEdge> edges;
};
struct LayoutMetrics {
  double row_gap = 22, column_gap = 28, lane_gap = 10, margin = 24;
  double lane_clear = 16;      // between a lane and the boxes beside it
  double longest_lane = 4000;  // a longer lane is cut: only its two ends are drawn
};

struct Route {
  std::vector<Point> points;  // corners of an axis-parallel line; empty if an end is missing
  bool lane = false;
  bool cut = false;  // points are two stubs of two points each
};
struct GraphLayout {
  std::vector<Box> nodes, groups;
  std::vector<Route> edges;
  double width = 0, height = 0;
};

// cancelled is polled; once it says true an empty layout comes back.
GraphLayout layout_graph(const LayoutGraph& graph, const LayoutMetrics& metrics = {},
                         const std::function<bool()>& cancelled = {});

}  // namespace vitrine::kit
