#include "views/graph/traffic.h"

#include <algorithm>
#include <map>

#include "views/graph/rows.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace session;
using kit::theme;

namespace {

constexpr double kLeftRoom = 96, kRightRoom = 172, kBarsFrom = 12, kLongestBar = 76;

// Bytes a node reads and writes when it runs by itself: each of its inputs once, and its result. Of a table
// that is looked up it reads no more than what it gives.
std::map<Id, double> own_traffic(const kit::SessionData& data, Id graph) {
  std::map<Id, double> out;
  std::map<std::pair<Id, Id>, bool> seen;
  for (const NodeRow& node : data.nodes.of(graph)) out[node.id] = static_cast<double>(node.bytes);
  for (const EdgeRow& edge : data.edges.of(graph)) {
    const NodeRow* from = data.nodes.find(edge.src);
    const NodeRow* to = data.nodes.find(edge.dst);
    if (!from || !to || std::exchange(seen[{edge.src, edge.dst}], true)) continue;
    const auto bytes = static_cast<double>(edge.bytes ? edge.bytes : from->bytes);
    const bool looked_up = kit::familyOf(to->family) == kit::NodeFamily::Memory && is_weight(*from);
    out[edge.dst] += looked_up ? std::min(bytes, static_cast<double>(to->bytes)) : bytes;
  }
  return out;
}

// Bytes that cross the border of each kernel: what it reads from outside, each value once, and what others
// read of it.
std::map<std::string, double> kernel_traffic(const kit::SessionData& data, Id graph) {
  std::map<std::string, double> out;
  std::map<std::pair<Id, std::string>, bool> read;
  std::map<Id, bool> written;
  for (const EdgeRow& edge : data.edges.of(graph)) {
    const NodeRow *from = data.nodes.find(edge.src), *to = data.nodes.find(edge.dst);
    if (!from || !to || (from->group_label == to->group_label && !from->group_label.empty())) continue;
    const double bytes = static_cast<double>(edge.bytes ? edge.bytes : from->bytes);
    if (!std::exchange(read[{edge.src, to->group_label}], true)) out[to->group_label] += bytes;
    if (!std::exchange(written[edge.src], true)) out[from->group_label] += bytes;
  }
  return out;
}

bool generated(const std::string& label) {
  return label.starts_with("K");
}

class Adder {
 public:
  Adder(Scene& scene, const kit::SessionData& data, const GraphRow& graph)
      : scene_(scene), data_(data), graph_(graph), fused_(data.lastGraph(graph.compilation, "fused")) {
    const GraphRow* loops = data.lastGraph(graph.compilation, "loops");
    if (!fused_ || !loops) return;
    labels_ = kernel_labels(data, graph.compilation);
    const std::map<Id, double> alone = own_traffic(data, loops->id);
    for (const NodeRow& node : data.nodes.of(loops->id)) {
      const std::string label = label_of(node);
      if (node.kind != "op" || !generated(label)) continue;
      before_[label] += alone.at(node.id);
      alone_[node.stable] = alone.at(node.id);
    }
    // Of what stands in one row; a kernel's loops together are longer, and their outline stays open.
    for (const auto& [stable, bytes] : alone_) scene_.beside.traffic.add(bytes);
    std::map<std::string, double> crossing = kernel_traffic(data, fused_->id);
    for (const KernelRow& kernel : data.kernels.of(graph.compilation))
      if (generated(kernel.label))
        scene_.beside.traffic.add(kernel.bytes ? static_cast<double>(kernel.bytes) : crossing[kernel.label]);
    scene_.beside.largest = scene_.beside.traffic.largest;
  }

  void add() {
    if (before_.empty()) return;
    scene_.beside.left_room = kLeftRoom;
    scene_.beside.right_room = kRightRoom;
    graph_.stage == "loops" ? add_loops() : add_kernels();
  }

 private:
  std::string label_of(const NodeRow& node) const {
    if (!node.group_label.empty()) return node.group_label;
    auto later = labels_.find(node.stable);
    return later == labels_.end() ? std::string() : later->second;
  }

  void add_loops() {
    std::map<std::string, std::vector<int>> items;
    for (const NodeRow& node : data_.nodes.of(graph_.id)) {
      auto it = scene_.item_of.find(node.id);
      if (node.kind != "op" || it == scene_.item_of.end()) continue;
      const std::string label = label_of(node);
      if (!generated(label)) continue;
      items[label].push_back(it->second);
      const double bytes = alone_[node.stable];
      scene_.beside.bars.push_back({it->second, -1, bytes, 0});
      scene_.beside.total += bytes;
    }
    for (auto& [label, of] : items)
      scene_.beside.brackets.push_back({QStringLiteral("to be ") + QString::fromStdString(label), of, true});
  }

  void add_kernels() {
    std::map<std::string, double> crossing = kernel_traffic(data_, graph_.id);
    std::map<Id, double> ns;
    for (const LaunchRow& l : data_.launches.of(graph_.compilation)) ns[l.kernel] += l.median_ns;
    for (const KernelRow& kernel : data_.kernels.of(graph_.compilation)) {
      if (generated(kernel.label)) {
        const double bytes = kernel.bytes ? static_cast<double>(kernel.bytes) : crossing[kernel.label];
        for (size_t g = 0; g < scene_.groups.size(); ++g)
          if (scene_.groups[g].id == kernel.id)
            scene_.beside.bars.push_back({-1, static_cast<int>(g), bytes, before_[kernel.label]});
        scene_.beside.total += bytes;
        scene_.beside.total_before += before_[kernel.label];
        continue;
      }
      const QString title =
          QString::fromStdString(kernel.label) +
          (ns[kernel.id] > 0 ? QStringLiteral(" ") + kit::timeText(ns[kernel.id]) : QString());
      for (const NodeRow& node : data_.nodes.of(graph_.id))
        if (auto it = scene_.item_of.find(node.id);
            node.group_label == kernel.label && it != scene_.item_of.end())
          scene_.beside.brackets.push_back({title, {it->second}, false});
    }
  }

  Scene& scene_;
  const kit::SessionData& data_;
  const GraphRow& graph_;
  const GraphRow* fused_;
  std::unordered_map<int64_t, std::string> labels_;
  std::map<std::string, double> before_;  // by kernel: its loops, each by itself
  std::map<int64_t, double> alone_;       // by stable number
};

// One device pixel wide at any zoom.
void line(QPainter& p, const QPolygonF& points) {
  p.save();
  p.setRenderHint(QPainter::Antialiasing, false);
  p.setPen(QPen(theme().ctl, 0));
  p.setBrush(Qt::NoBrush);
  p.drawPolyline(points);
  p.restore();
}
// Without its right side when it goes on.
void outline(QPainter& p, const QRectF& box, bool open) {
  line(p, {box.topRight(), box.topLeft(), box.bottomLeft(), box.bottomRight()});
  if (!open) line(p, {box.topRight(), box.bottomRight()});
}

// Where a bracket stands: those that overlap in height stand beside each other, as far as there is room.
struct PlacedBracket {
  const Bracket* bracket = nullptr;
  double left = 1e9, top = 1e9, bottom = -1e9;
  int track = 0;
};
constexpr int kMostTracks = 4;
constexpr double kTrack = 8;

std::vector<PlacedBracket> place_brackets(const GraphPicture& picture) {
  std::vector<PlacedBracket> out;
  for (const Bracket& bracket : picture.scene.beside.brackets) {
    PlacedBracket placed{&bracket};
    for (int item : bracket.items) {
      const kit::Box& box = picture.layout.nodes[size_t(item)];
      placed.left = std::min(placed.left, box.x - picture.scene.layout.nodes[size_t(item)].left_extra);
      placed.top = std::min(placed.top, box.y);
      placed.bottom = std::max(placed.bottom, box.bottom());
    }
    out.push_back(placed);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.top < b.top; });
  std::vector<double> ends;  // of each track
  for (PlacedBracket& placed : out) {
    size_t track = 0;
    while (track < ends.size() && ends[track] > placed.top) ++track;
    if (track == ends.size()) ends.push_back(0);
    ends[track] = placed.bottom;
    placed.track = std::min(static_cast<int>(track), kMostTracks - 1);
  }
  return out;
}

void paint_brackets(QPainter& p, const GraphPicture& picture, const QRectF& visible) {
  const kit::Theme& t = theme();
  std::vector<QRectF> titles;
  for (const PlacedBracket& placed : place_brackets(picture)) {
    const Bracket& bracket = *placed.bracket;
    if (placed.bottom < visible.top() || placed.top > visible.bottom()) continue;
    double x = placed.left - 14 - kTrack * placed.track;
    if (bracket.line)
      line(p, {{x + 5, placed.top}, {x, placed.top}, {x, placed.bottom}, {x + 5, placed.bottom}});
    else
      x = placed.left - 4;
    // A title stands within the room beside the rows, and not on another one.
    const double width = kit::textWidth(t.mono(11), bracket.title) + 2;
    const double from = std::max(x - 6 - width, placed.left - picture.scene.beside.left_room + 2);
    QRectF title(from, middle_in_sight(placed.top, placed.bottom, visible) - 10, width, 20);
    const auto taken = [&] {
      return std::any_of(titles.begin(), titles.end(), [&](const QRectF& other) {
        return other.adjusted(0, 3, 0, -3).intersects(title.adjusted(0, 3, 0, -3));
      });
    };
    while (taken() && title.bottom() < std::min(placed.bottom, visible.bottom())) title.translate(0, 14);
    if (taken()) continue;
    titles.push_back(title);
    kit::drawText(p, title.toRect(), bracket.title, t.mono(11), t.text2, Qt::AlignRight);
  }
}

}  // namespace

double middle_in_sight(double top, double bottom, const QRectF& visible) {
  const double from = std::max(top, visible.top()), to = std::min(bottom, visible.bottom());
  return from < to ? (from + to) / 2 : (top + bottom) / 2;
}

void add_beside(Scene& scene, const kit::SessionData& data, const GraphRow& graph) {
  if (graph.stage == "loops" || graph.stage == "fused") Adder(scene, data, graph).add();
}

void paint_beside(QPainter& p, const GraphPicture& picture, bool bars, const QRectF& visible) {
  const kit::Theme& t = theme();
  const Beside& beside = picture.scene.beside;
  paint_brackets(p, picture, visible);
  if (!bars || beside.bars.empty() || beside.largest <= 0) return;
  const double from = picture.layout.width + kBarsFrom, to = picture.layout.width + kRightRoom - 16;
  const kit::MeasureUnit bytes =
      kit::bytesUnit(beside.traffic);  // in both panes; sums are longer, and as precise
  double lowest = 0;
  auto row = [&](double middle) { return QRectF(from, middle - 9, to - from, 18).toRect(); };
  for (const TrafficBar& bar : beside.bars) {
    const kit::Box& box =
        bar.item >= 0 ? picture.layout.nodes[size_t(bar.item)] : picture.layout.groups[size_t(bar.group)];
    const double unit = kLongestBar / beside.largest;
    const double middle =
        bar.item >= 0 ? box.y + box.h / 2 : middle_in_sight(box.y, box.bottom(), visible);  // of a kernel
    lowest = std::max(lowest, box.y + box.h / 2);
    if (box.bottom() < visible.top() || box.y > visible.bottom()) continue;
    const double before = bar.before * unit;
    if (bar.before > bar.bytes)
      outline(p, QRectF(from, middle - 5, std::clamp(before, 2.0, kLongestBar), 10), before > kLongestBar);
    p.fillRect(QRectF(from, middle - 5, std::max(1.0, bar.bytes * unit), 10), t.edge);
    kit::drawText(p, row(middle), bytes.bound(bar.bytes), t.mono(12), t.text1, Qt::AlignRight);
  }
  line(p, {{from, lowest + 20}, {to, lowest + 20}});
  const QRect sum = row(lowest + 34);
  kit::drawText(p, sum, bytes.format(beside.total), t.mono(12, 500), t.text1, Qt::AlignRight);
  const double saved = beside.total - beside.total_before;
  if (beside.total_before > 0)
    kit::drawText(p, sum, kit::signedText(bytes.format(std::abs(saved)), saved) + ' ' + bytes.name,
                  t.mono(12), saved < 0 ? t.ok : t.text2);
}

void paint_beside_head(QPainter& p, const QRectF& view, const GraphPicture& picture, const Camera& camera) {
  const kit::Theme& t = theme();
  const Beside& beside = picture.scene.beside;
  if (beside.bars.empty() || beside.largest <= 0) return;
  const double from = camera.to_view({picture.layout.width + kBarsFrom, 0}).x(),
               to = camera.to_view({picture.layout.width + kRightRoom - 16, 0}).x();
  const QRect head = QRectF(from, view.top(), to - from, kBesideHead).toRect();
  p.fillRect(head.adjusted(-4, 0, 4, 0), t.canvas);
  const int unit =
      kit::drawText(p, head, kit::bytesUnit(beside.traffic).name, t.ui(11), t.text2, Qt::AlignRight);
  kit::drawText(p, head.adjusted(0, 0, -unit - 8, 0), QStringLiteral("traffic"), t.ui(11), t.text2);
}

}  // namespace vitrine::views
