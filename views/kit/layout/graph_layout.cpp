#include "views/kit/layout/graph_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "views/kit/layout/graph_routes.h"

namespace vitrine::kit {

namespace {

constexpr int kSweeps = 4;

// A child of one container: a node (index >= 0) or a group (index of the group, node == -1).
struct LayoutItem {
  int node = -1, group = -1, first = 0;    // first: least node index inside, the tie-breaker
  double left = 0, right = 0, height = 0;  // extents from its anchor, with room for pills
  double box_left = 0, width = 0;          // the box itself, from its anchor
  int rank = 0;
  double x = 0;  // of its anchor: a node's middle, a group's first node's middle, so that edges run straight
  std::vector<int> above, below;
};

// Least-squares positions with x[i+1] - x[i] >= gap[i], near wanted[i]: pool adjacent violators on wanted[i]
// - offset[i].
std::vector<double> separate(const std::vector<double>& wanted, const std::vector<double>& offset) {
  struct Pool {
    double sum;
    int count;
    double mean() const { return sum / count; }
  };
  std::vector<Pool> pools;
  for (size_t i = 0; i < wanted.size(); ++i) {
    pools.push_back({wanted[i] - offset[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() >= pools.back().mean()) {
      Pool last = pools.back();
      pools.pop_back();
      pools.back() = {pools.back().sum + last.sum, pools.back().count + last.count};
    }
  }
  std::vector<double> out;
  for (const Pool& pool : pools) {
    for (int k = 0; k < pool.count; ++k) out.push_back(pool.mean() + offset[out.size()]);
  }
  return out;
}

class Container {
 public:
  Container(std::vector<LayoutItem> items, const LayoutMetrics& metrics)
      : items_(std::move(items)), metrics_(metrics) {}

  void edge(int from, int to) {
    items_[static_cast<size_t>(from)].below.push_back(to);
    items_[static_cast<size_t>(to)].above.push_back(from);
  }

  void place() {
    rank();
    for (int sweep = 0; sweep < kSweeps; ++sweep) order(sweep % 2 == 0);
    for (auto& row : rows_) spread(row, {});
    for (int sweep = 0; sweep < kSweeps; ++sweep) pull(sweep % 2 == 0);
    pull(true);
  }

  const std::vector<LayoutItem>& items() const { return items_; }
  // Boxes relative to the container's inner corner, by item; and the size of all.
  std::vector<Box> boxes(double* width, double* height) const {
    std::vector<Box> out(items_.size());
    double left = 0, y = 0;
    bool any = false;
    for (const LayoutItem& item : items_) {
      left = any ? std::min(left, item.x - item.left) : item.x - item.left;
      any = true;
    }
    *width = 0;
    for (const auto& row : rows_) {
      double tallest = 0;
      for (int i : row) tallest = std::max(tallest, at(i).height);
      for (int i : row) {
        const LayoutItem& item = at(i);
        out[static_cast<size_t>(i)] = {item.x - item.box_left - left, y + (tallest - item.height) / 2,
                                       item.width, item.height};
        *width = std::max(*width, item.x + item.right - left);
      }
      y += tallest + metrics_.row_gap;
    }
    *height = std::max(0.0, y - metrics_.row_gap);
    return out;
  }

 private:
  const LayoutItem& at(int i) const { return items_[static_cast<size_t>(i)]; }
  LayoutItem& at(int i) { return items_[static_cast<size_t>(i)]; }

  void rank() {
    int ranks = 0;
    for (LayoutItem& item : items_) {  // items stand in execution order, and edges go forward in it
      for (int p : item.above) item.rank = std::max(item.rank, at(p).rank + 1);
      ranks = std::max(ranks, item.rank + 1);
    }
    pull_down();
    rows_.assign(static_cast<size_t>(ranks), {});
    for (size_t i = 0; i < items_.size(); ++i)
      rows_[static_cast<size_t>(items_[i].rank)].push_back(static_cast<int>(i));
  }

  // What starts a side chain (a weight's transpose, a mask, what each round of an unrolled loop makes of the
  // same input) stands above its first reader, not in one long row at the top.
  void pull_down() {
    std::vector<bool> side(items_.size());
    for (size_t i = 0; i < items_.size(); ++i) {
      const LayoutItem& item = items_[i];
      const bool chain = std::all_of(item.above.begin(), item.above.end(),
                                     [&](int p) { return side[static_cast<size_t>(p)]; });
      side[i] =
          item.above.empty() || (chain && (item.below.size() == 1 || item.above.size() <= item.below.size()));
    }
    for (size_t i = items_.size(); i-- > 0;) {
      if (!side[i] || items_[i].below.empty()) continue;
      int latest = std::numeric_limits<int>::max();
      for (int next : items_[i].below) latest = std::min(latest, at(next).rank - 1);
      items_[i].rank = std::max(items_[i].rank, latest);
    }
  }

  double position(int i) const {
    const auto& row = rows_[static_cast<size_t>(at(i).rank)];
    return static_cast<double>(std::find(row.begin(), row.end(), i) - row.begin()) -
           static_cast<double>(row.size() - 1) / 2;
  }

  void order(bool down) {
    for (size_t k = 0; k < rows_.size(); ++k) {
      auto& row = rows_[down ? k : rows_.size() - 1 - k];
      if (row.size() < 2) continue;
      std::map<int, double> weight;
      for (int i : row) {
        const auto& near = down ? at(i).above : at(i).below;
        double sum = 0;
        for (int n : near) sum += position(n);
        weight[i] = near.empty() ? position(i) : sum / static_cast<double>(near.size());
      }
      std::stable_sort(row.begin(), row.end(), [&](int a, int b) { return weight[a] < weight[b]; });
    }
  }

  void spread(const std::vector<int>& row, const std::vector<double>& wanted) {
    std::vector<double> offset(row.size(), 0);
    for (size_t i = 1; i < row.size(); ++i)
      offset[i] = offset[i - 1] + at(row[i - 1]).right + metrics_.column_gap + at(row[i]).left;
    std::vector<double> want = wanted;
    if (want.empty()) {
      for (double o : offset) want.push_back(o - offset.back() / 2);
    }
    auto x = separate(want, offset);
    for (size_t i = 0; i < row.size(); ++i) at(row[i]).x = x[i];
  }

  // Each item wants to stand under (or over) the median of its neighbours; an item without any stays.
  void pull(bool down) {
    for (size_t k = 0; k < rows_.size(); ++k) {
      const auto& row = rows_[down ? k : rows_.size() - 1 - k];
      std::vector<double> wanted;
      for (int i : row) {
        std::vector<double> xs;
        for (int n : down ? at(i).above : at(i).below) xs.push_back(at(n).x);
        std::sort(xs.begin(), xs.end());
        wanted.push_back(xs.empty() ? at(i).x : (xs[(xs.size() - 1) / 2] + xs[xs.size() / 2]) / 2);
      }
      spread(row, wanted);
    }
  }

  std::vector<LayoutItem> items_;
  std::vector<std::vector<int>> rows_;
  const LayoutMetrics& metrics_;
};

using Lifted = std::map<std::pair<int, int>, int>;

bool goes_forward(const Lifted& edges) {
  return std::all_of(edges.begin(), edges.end(),
                     [](const auto& edge) { return edge.first.first < edge.first.second; });
}

// Items in an order in which edges go forward, else as they were. Operators run in such an order; a module's
// first operator may run long before what it reads: in a backward graph, the transposed weight of each layer.
// Of modules that read each other the one that reads least comes first.
std::vector<LayoutItem> sources_first(const std::vector<LayoutItem>& items, const Lifted& edges) {
  std::vector<int> reads(items.size());
  std::vector<std::vector<std::pair<int, int>>> below(items.size());
  for (const auto& [edge, count] : edges) {
    reads[static_cast<size_t>(edge.second)] += count;
    below[static_cast<size_t>(edge.first)].emplace_back(edge.second, count);
  }
  std::set<std::pair<int, int>> open;  // what is still read, item
  for (size_t i = 0; i < items.size(); ++i) open.emplace(reads[i], static_cast<int>(i));
  std::vector<LayoutItem> out;
  while (!open.empty()) {
    const auto i = static_cast<size_t>(open.begin()->second);
    open.erase(open.begin());
    reads[i] = -1;
    out.push_back(items[i]);
    for (const auto& [to, count] : below[i]) {
      int& left = reads[static_cast<size_t>(to)];
      if (left < 0) continue;
      open.erase({left, to});
      left -= count;
      open.emplace(left, to);
    }
  }
  return out;
}

class Placer {
 public:
  Placer(const LayoutGraph& graph, const LayoutMetrics& metrics, const std::function<bool()>& cancelled)
      : graph_(graph),
        metrics_(metrics),
        cancelled_(cancelled),
        children_(graph.groups.size() + 1),
        nodes_of_(graph.groups.size() + 1) {
    out_.nodes.resize(graph.nodes.size());
    out_.groups.resize(graph.groups.size());
    for (size_t g = 0; g < graph.groups.size(); ++g)
      children_[slot(graph.groups[g].parent)].push_back(static_cast<int>(g));
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      nodes_of_[slot(graph.nodes[n].group)].push_back(static_cast<int>(n));
  }

  // Lays out a container; its boxes stand relative to its own inner corner until shift() moves them.
  bool place(int group, double* width, double* height) {
    std::vector<LayoutItem> items;
    for (int n : nodes_of_[slot(group)]) {
      const LayoutNode& node = graph_.nodes[static_cast<size_t>(n)];
      items.push_back({n, -1, n, node.width / 2 + node.left_extra, node.width / 2, node.height,
                       node.width / 2, node.width});
    }
    for (int g : children_[slot(group)]) {
      const LayoutGroup& inner = graph_.groups[static_cast<size_t>(g)];
      double w = 0, h = 0;
      if (!place(g, &w, &h)) return false;
      Box& box = out_.groups[static_cast<size_t>(g)];
      box.w = w + 2 * inner.pad;
      box.h = h + inner.pad_top + inner.pad;
      double anchor = inner.pad + anchor_of(g);
      items.push_back({-1, g, first_node(g), anchor, box.w - anchor, box.h, anchor, box.w});
    }
    if (cancelled_ && cancelled_()) return false;
    std::stable_sort(items.begin(), items.end(),
                     [](const LayoutItem& a, const LayoutItem& b) { return a.first < b.first; });
    Lifted edges = lifted(group, items);
    if (!goes_forward(edges)) {
      items = sources_first(items, edges);
      edges = lifted(group, items);
    }
    Container container(items, metrics_);
    for (const auto& [edge, count] : edges)
      if (edge.first < edge.second) container.edge(edge.first, edge.second);
    container.place();
    auto boxes = container.boxes(width, height);
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].node >= 0) {
        out_.nodes[static_cast<size_t>(items[i].node)] = boxes[i];
      } else {
        shift(items[i].group, boxes[i].x, boxes[i].y);
      }
    }
    return true;
  }

  GraphLayout take() { return std::move(out_); }

  void shift_all(double dx, double dy) {
    for (int n : nodes_of_[0]) move(out_.nodes[static_cast<size_t>(n)], dx, dy);
    for (int g : children_[0]) {
      move_inside(g, dx, dy);
      move(out_.groups[static_cast<size_t>(g)], dx, dy);
    }
  }

 private:
  static size_t slot(int group) { return static_cast<size_t>(group + 1); }
  static void move(Box& box, double dx, double dy) {
    box.x += dx;
    box.y += dy;
  }

  int first_node(int group) const {
    int first = nodes_of_[slot(group)].empty() ? static_cast<int>(graph_.nodes.size())
                                               : nodes_of_[slot(group)].front();
    for (int g : children_[slot(group)]) first = std::min(first, first_node(g));
    return first;
  }

  // Middle of a group's first node, from the inner corner of the group.
  double anchor_of(int group) const {
    int first = first_node(group);
    return first < static_cast<int>(graph_.nodes.size()) ? out_.nodes[static_cast<size_t>(first)].middle()
                                                         : 0;
  }

  // Puts a laid-out group's corner at (x, y) of its parent, with everything inside.
  void shift(int group, double x, double y) {
    Box& box = out_.groups[static_cast<size_t>(group)];
    const LayoutGroup& g = graph_.groups[static_cast<size_t>(group)];
    box.x = x;
    box.y = y;
    move_inside(group, x + g.pad, y + g.pad_top);
  }

  void move_inside(int group, double dx, double dy) {
    for (int n : nodes_of_[slot(group)]) move(out_.nodes[static_cast<size_t>(n)], dx, dy);
    for (int g : children_[slot(group)]) {
      move(out_.groups[static_cast<size_t>(g)], dx, dy);
      move_inside(g, dx, dy);
    }
  }

  // The item of container `group` that holds a node, or -1.
  int item_of(int node, int group, const std::map<int, int>& by_node,
              const std::map<int, int>& by_group) const {
    int at = graph_.nodes[static_cast<size_t>(node)].group;
    if (at == group) return by_node.at(node);
    while (at >= 0 && graph_.groups[static_cast<size_t>(at)].parent != group)
      at = graph_.groups[static_cast<size_t>(at)].parent;
    return at < 0 ? -1 : by_group.at(at);
  }

  // Between the items of a container: how many edges go from one to another.
  Lifted lifted(int group, const std::vector<LayoutItem>& items) const {
    std::map<int, int> by_node, by_group;
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].node >= 0)
        by_node[items[i].node] = static_cast<int>(i);
      else
        by_group[items[i].group] = static_cast<int>(i);
    }
    Lifted out;
    for (const LayoutEdge& edge : graph_.edges) {
      int from = item_of(edge.from, group, by_node, by_group),
          to = item_of(edge.to, group, by_node, by_group);
      if (from >= 0 && to >= 0 && from != to) ++out[{from, to}];
    }
    return out;
  }

  const LayoutGraph& graph_;
  const LayoutMetrics& metrics_;
  const std::function<bool()>& cancelled_;
  std::vector<std::vector<int>> children_, nodes_of_;
  GraphLayout out_;
};

}  // namespace

GraphLayout layout_graph(const LayoutGraph& graph, const LayoutMetrics& metrics,
                         const std::function<bool()>& cancelled) {
  Placer placer(graph, metrics, cancelled);
  double width = 0, height = 0;
  if (!placer.place(-1, &width, &height)) return {};
  placer.shift_all(metrics.margin, metrics.margin);
  GraphLayout out = placer.take();
  route_edges(graph, metrics, out);
  out.height = height + 2 * metrics.margin;
  out.width = width + 2 * metrics.margin;
  for (const Route& route : out.edges) {
    for (const Point& p : route.points) out.width = std::max(out.width, p.x + metrics.margin);
  }
  return out;
}

}  // namespace vitrine::kit
