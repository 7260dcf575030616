// The graph layout: boxes never overlap, a chain is straight, a skip edge runs at the right, groups hold
// their nodes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "views/kit/layout/graph_layout.h"

#include <doctest/doctest.h>

#include <chrono>
#include <random>

using namespace vitrine::kit;

namespace {

LayoutGraph chain(int n) {
  LayoutGraph g;
  for (int i = 0; i < n; ++i) g.nodes.push_back({160, 40});
  for (int i = 1; i < n; ++i) g.edges.push_back({i - 1, i});
  return g;
}

bool overlap(const Box& a, const Box& b) {
  return a.x < b.right() - 0.01 && b.x < a.right() - 0.01 && a.y < b.bottom() - 0.01 &&
         b.y < a.bottom() - 0.01;
}

void check_apart(const GraphLayout& layout) {
  for (size_t i = 0; i < layout.nodes.size(); ++i) {
    for (size_t j = i + 1; j < layout.nodes.size(); ++j)
      REQUIRE_FALSE(overlap(layout.nodes[i], layout.nodes[j]));
  }
}

}  // namespace

TEST_CASE("a chain is one straight column") {
  GraphLayout layout = layout_graph(chain(6));
  for (const Box& box : layout.nodes) CHECK(box.middle() == doctest::Approx(layout.nodes[0].middle()));
  for (const Route& route : layout.edges) CHECK(route.points.size() == 2);
}

TEST_CASE("a residual edge runs in a lane at the right and enters from the right") {
  LayoutGraph g = chain(5);
  g.edges.push_back({0, 4});
  GraphLayout layout = layout_graph(g);
  const Route& skip = layout.edges.back();
  REQUIRE(skip.lane);
  CHECK(skip.points.back().x == doctest::Approx(layout.nodes[4].right()));
  for (const Box& box : layout.nodes) CHECK(skip.points[1].x > box.right());
}

TEST_CASE("one of many edges at an end takes no lane, and the graph stays narrow") {
  LayoutGraph g = chain(20), stubs = g;
  for (int i = 0; i < 17; ++i) {
    g.edges.push_back({i, 19});
    stubs.edges.push_back({i, 19, true});
  }
  const GraphLayout wide = layout_graph(g), narrow = layout_graph(stubs);
  CHECK(narrow.edges.back().cut);
  CHECK_FALSE(wide.edges.back().cut);
  CHECK(narrow.width < wide.width - 100);
  CHECK(narrow.edges[0].points.size() == 2);  // neighbours are joined as ever
}

TEST_CASE("lanes that overlap in height use different tracks") {
  LayoutGraph g = chain(6);
  g.edges.push_back({0, 4});
  g.edges.push_back({1, 5});
  GraphLayout layout = layout_graph(g);
  CHECK(layout.edges[5].points[1].x != layout.edges[6].points[1].x);
}

TEST_CASE("branches of one producer stand side by side under it") {
  LayoutGraph g;
  for (int i = 0; i < 5; ++i) g.nodes.push_back({100, 40});
  g.edges = {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}};
  GraphLayout layout = layout_graph(g);
  CHECK(layout.nodes[1].y == layout.nodes[3].y);
  CHECK(layout.nodes[2].middle() == doctest::Approx(layout.nodes[0].middle()));
  check_apart(layout);
}

// As in a backward graph: module 0 begins with the transpose of a weight, and reads what module 1 makes.
TEST_CASE("a group stands below the group it reads, whichever operator ran first") {
  LayoutGraph g;
  for (int i = 0; i < 4; ++i) g.nodes.push_back({100, 40});
  g.groups = {{-1}, {-1}};
  g.nodes[0].group = g.nodes[3].group = 0;
  g.nodes[1].group = g.nodes[2].group = 1;
  g.edges = {{1, 2}, {2, 3}, {0, 3}};
  const GraphLayout layout = layout_graph(g);
  CHECK(layout.groups[1].bottom() <= layout.groups[0].y);
  check_apart(layout);
}

TEST_CASE("groups that read each other stand apart all the same") {
  LayoutGraph g;
  for (int i = 0; i < 4; ++i) g.nodes.push_back({100, 40});
  g.groups = {{-1}, {-1}};
  g.nodes[0].group = g.nodes[3].group = 0;
  g.nodes[1].group = g.nodes[2].group = 1;
  g.edges = {{0, 1}, {1, 2}, {2, 3}};
  const GraphLayout layout = layout_graph(g);
  CHECK(layout.groups[0].bottom() <= layout.groups[1].y);
  check_apart(layout);
}

TEST_CASE("a group encloses its nodes, and nothing else stands in it") {
  LayoutGraph g = chain(6);
  g.groups.push_back({});
  for (int i : {2, 3}) g.nodes[static_cast<size_t>(i)].group = 0;
  GraphLayout layout = layout_graph(g);
  const Box& hull = layout.groups[0];
  for (int i = 0; i < 6; ++i)
    CHECK(overlap(hull, layout.nodes[static_cast<size_t>(i)]) == (i == 2 || i == 3));
  check_apart(layout);
}

TEST_CASE("random graphs with nested groups: boxes stay apart, and the result is the same twice") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    LayoutGraph g;
    int n = 5 + static_cast<int>(random() % 60);
    g.groups = {{}, {0}, {}};
    for (int i = 0; i < n; ++i)
      g.nodes.push_back({60.0 + random() % 100, 24, random() % 2 * 40.0, static_cast<int>(random() % 4) - 1});
    for (int i = 1; i < n; ++i) g.edges.push_back({static_cast<int>(random() % static_cast<unsigned>(i)), i});
    GraphLayout a = layout_graph(g), b = layout_graph(g);
    INFO("seed " << seed);
    check_apart(a);
    for (size_t i = 0; i < a.nodes.size(); ++i) CHECK(a.nodes[i].x == b.nodes[i].x);
  }
}

TEST_CASE("cancelling gives an empty layout") {
  CHECK(layout_graph(chain(5), {}, [] { return true; }).nodes.empty());
}

TEST_CASE("a side chain stands above its reader, not at the top") {
  LayoutGraph g = chain(6);  // 0 .. 5
  g.nodes.insert(g.nodes.end(), {{160, 40}, {160, 40}});
  g.edges.push_back({6, 7});
  g.edges.push_back({7, 5});
  // Producers stand before their consumers.
  std::rotate(g.nodes.begin(), g.nodes.begin() + 6, g.nodes.end());
  for (LayoutEdge& e : g.edges) e = {(e.from + 2) % 8, (e.to + 2) % 8};
  GraphLayout layout = layout_graph(g);
  check_apart(layout);
  CHECK(layout.nodes[1].y == doctest::Approx(layout.nodes[6].y));  // one row above the last node of the chain
  CHECK(layout.nodes[0].y == doctest::Approx(layout.nodes[5].y));
}

TEST_CASE("an unrolled loop over one input is as narrow as one round") {
  // Node 0 is the input; each round makes a node of it, which the round's next node and the end read.
  constexpr int kRounds = 20;
  LayoutGraph g;
  g.nodes.assign(2 + 2 * kRounds, {160, 40});
  const int end = 1 + 2 * kRounds;
  for (int i = 0; i < kRounds; ++i) {
    const int made = 1 + 2 * i, sum = made + 1;
    g.edges.push_back({0, made, i > 0});
    g.edges.push_back({made, sum});
    if (i > 0) g.edges.push_back({sum - 2, sum});
    g.edges.push_back({made, end, true});
  }
  g.edges.push_back({end - 1, end});
  CHECK(layout_graph(g).width < 6 * 160);
}

TEST_CASE("a lane does not run through a neighbour of its target") {
  LayoutGraph g;  // 0 feeds 1, 2 and 3; 1 -> 2 -> {4}, 3 beside 2's row
  for (int i = 0; i < 6; ++i) g.nodes.push_back({160, 40});
  for (LayoutEdge e : {LayoutEdge{0, 1}, {1, 2}, {2, 3}, {2, 4}, {3, 5}, {4, 5}, {0, 3}, {0, 4}})
    g.edges.push_back(e);
  GraphLayout layout = layout_graph(g);
  for (size_t e = 0; e < g.edges.size(); ++e) {
    const auto& points = layout.edges[e].points;
    for (size_t i = 1; i < points.size(); ++i)
      for (size_t n = 0; n < layout.nodes.size(); ++n) {
        if (static_cast<int>(n) == g.edges[e].from || static_cast<int>(n) == g.edges[e].to) continue;
        const Box& box = layout.nodes[n];
        const double x0 = std::min(points[i - 1].x, points[i].x), x1 = std::max(points[i - 1].x, points[i].x);
        const double y0 = std::min(points[i - 1].y, points[i].y), y1 = std::max(points[i - 1].y, points[i].y);
        CHECK_FALSE((x0 < box.right() && x1 > box.x && y0 < box.bottom() && y1 > box.y));
      }
  }
}
