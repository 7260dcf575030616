#include "views/graph/graph_view.h"

#include <QAction>
#include <QPainter>
#include <QRegularExpression>
#include <algorithm>

#include "core/session/stages.h"
#include "views/graph/traffic.h"
#include "views/kit/numbers.h"
#include "views/kit/paint.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr double kReadable = 0.75;  // the first picture does not zoom out further
constexpr double kLargestFit = 1.0;
constexpr double kCompactReadable = 0.8;
constexpr double kMapRoom = 112;  // at the right, where the map stands when the graph is taller than the view
constexpr double kCompactGap = 16;  // between rows of one line
}  // namespace

GraphView::GraphView(Jobs* jobs, QWidget* parent) : View(jobs, parent) {
  setMouseTracking(true);
}

QString GraphView::title() const {
  for (const session::StageInfo& info : session::kStages)
    if (info.name == stage())
      return QString::fromUtf8(info.title.data(), static_cast<int>(info.title.size())) +
             (stage() == "loops" || stage() == "fused" ? QString() : QStringLiteral(" graph"));
  return QStringLiteral("Graph");
}

QString GraphView::subtitle() const {
  const session::GraphRow* g = graph();
  if (!g) return {};
  if (stage() == "fused" || stage() == "loops") return kernelCounts(*g);
  size_t ops = 0, coming = 0;
  for (const session::NodeRow& node : session()->nodes.of(g->id)) {
    ops += node.kind == "op";
    coming += node.kind == "op" && ghosts_.step_of.contains(node.id);
  }
  if (coming) return QStringLiteral("%1 of %2 nodes").arg(ops - coming).arg(ops);
  return QStringLiteral("%1 nodes").arg(ops);
}

// "10 loops, 5 library calls" before fusion, "4 kernels, 5 library calls, 9 launches" after it.
QString GraphView::kernelCounts(const session::GraphRow& g) const {
  size_t kernels = 0, calls = 0, ops = 0;
  for (const session::KernelRow& kernel : session()->kernels.of(g.compilation))
    ++(kernel.kind == "generated" ? kernels : calls);
  for (const session::NodeRow& node : session()->nodes.of(g.id)) ops += node.kind == "op";
  if (kernels + calls == 0) return QStringLiteral("%1 nodes").arg(ops);
  auto counted = [](size_t n, const char* what) {
    return QStringLiteral("%1 %2%3").arg(n).arg(QString::fromLatin1(what), n == 1 ? "" : "s");
  };
  const QString library = calls ? ", " + counted(calls, "library call") : QString();
  if (g.stage == "loops") return counted(ops - std::min(ops, calls), "loop") + library;
  size_t launches = 0;  // a view computes nothing
  for (const session::LaunchRow& launch : session()->launches.of(g.compilation))
    launches += launch.kind != "view";
  return counted(kernels, "kernel") + library +
         QStringLiteral(", %1 launch%2").arg(launches).arg(launches == 1 ? "" : "es");
}

QList<QAction*> GraphView::commands() {
  auto action = [this](const QString& text, auto act) {
    auto* a = new QAction(text, this);
    connect(a, &QAction::triggered, this, act);
    return a;
  };
  return {action(QStringLiteral("Fit graph"), [this] { zoom(Zoom::Fit); }),
          action(QStringLiteral("Cycle groups (G)"), [this] { cycle_groups(); }),
          action(QStringLiteral("Open or close all modules (Shift+O)"), [this] {
            all_open_ = !all_open_;
            rebuild();
          })};
}

Grouping GraphView::grouping() const {
  if (grouping_ >= 0) return static_cast<Grouping>(grouping_);
  return stage() == "fused" ? Grouping::Kernels : stage() == "loops" ? Grouping::None : Grouping::Modules;
}

void GraphView::sessionChanged() {
  shown_graph_ = 0;
  rebuild();
}

void GraphView::stageChanged() {
  fitted_ = false;
  sessionChanged();
}

void GraphView::selectionChanged(ChangeMask mask) {
  const session::GraphRow* g = graph();
  if ((mask & ChangeFilm) && (g ? g->id : 0) != shown_graph_) rebuild();
  if (mask & ChangeFilm) {
    Ghosts ghosts = g ? ghosts_of(*session(), selection().film, *g) : Ghosts();
    const bool other = ghosts != ghosts_;
    ghosts_ = std::move(ghosts);
    if (other) Q_EMIT headerChanged();
  }
  if (mask & (ChangeActive | ChangeRelatives)) keep_in_sight();
  update();
}

void GraphView::rebuild() {
  const session::GraphRow* g = graph();
  shown_graph_ = g ? g->id : 0;
  ghosts_ = g ? ghosts_of(*session(), selection().film, *g) : Ghosts();
  if (!g) {
    picture_ = {};
    update();
    return;
  }
  const bool loops = stage() == "loops" || stage() == "fused";
  SceneOptions options{grouping(), opened_, closed_, loops, loops, 0};
  if (all_open_)
    for (const session::NodeRow& node : session()->nodes.of(g->id)) options.opened.insert(node.module);
  if (selection().film.graph == g->id && !g->pass.empty()) {
    for (const session::GraphRow& other : session()->graphs.of(g->compilation))
      if (other.ordinal < g->ordinal) options.before = other.id;
  }
  options.opened.erase("");
  Scene scene = build_scene(*session(), g->id, options);
  add_beside(scene, *session(), *g);
  jobs()->run<GraphPicture>(
      this, QStringLiteral("layout"),
      [scene = std::move(scene), loops](const Cancel& cancel) {
        LayoutMetrics metrics;
        if (loops) metrics.row_gap = kCompactGap;
        return GraphPicture{scene, layout_graph(scene.layout, metrics, [&] { return cancel.requested(); }),
                            loops};
      },
      [this](GraphPicture picture) { show_picture(std::move(picture)); });
}

// A node that both pictures have keeps its place on the screen; a first picture is fitted.
void GraphView::show_picture(GraphPicture picture) {
  std::swap(picture_, picture);
  if (!fitted_ || picture.empty()) {
    fit();
    fitted_ = !picture_.empty();
  }
  keep_in_sight();
  Q_EMIT headerChanged();
  update();
}

QRectF GraphView::legend() const {
  return QRectF(0, height() - theme().header(), width(), theme().header());
}
QRectF GraphView::canvas() const {
  return QRectF(0, 0, width(), height() - theme().header());
}

// The graph with what stands beside it.
QRectF GraphView::extent() const {
  const Beside& beside = picture_.scene.beside;
  return {-beside.left_room, 0, picture_.layout.width + beside.left_room + beside.right_room,
          picture_.layout.height};
}

void GraphView::fit() {
  if (picture_.empty()) return;
  QRectF area = canvas();
  const QRectF whole = extent();
  const double zoom = std::min(area.width() / whole.width(), area.height() / whole.height());
  camera_.zoom = std::clamp(zoom, picture_.compact ? kCompactReadable : kReadable, kLargestFit);
  if (whole.height() * camera_.zoom > area.height() && area.width() > 4 * kMapRoom)
    area.setWidth(area.width() - kMapRoom);
  const double free = area.width() / camera_.zoom - whole.width();
  camera_.origin = {whole.left() - std::max(0.0, free / 2), 0};
  if (free < 0) camera_.origin.setX(busiest_left(area.width() / camera_.zoom));
  const double below = area.height() / camera_.zoom - whole.height();
  if (below > 0) camera_.origin.setY(-std::min(below / 2, 24.0));
}

// Where a window of that width begins that shows most of the nodes, with what stands left of them.
double GraphView::busiest_left(double width) const {
  std::vector<double> middles;
  for (const kit::Box& box : picture_.layout.nodes) middles.push_back(box.x + box.w / 2);
  const auto middle = middles.begin() + static_cast<std::ptrdiff_t>(middles.size() / 2);
  std::nth_element(middles.begin(), middle, middles.end());
  const QRectF whole = extent();
  return std::clamp(*middle - width / 2, whole.left(), std::max(whole.left(), whole.right() - width));
}

void GraphView::frame(const QRectF& scene) {
  QRectF area = canvas();
  camera_.zoom =
      std::clamp(std::min(area.width() / scene.width(), area.height() / scene.height()) * 0.9, 0.05, 1.5);
  camera_.origin = scene.center() - QPointF(area.width(), area.height()) / (2 * camera_.zoom);
  update();
}

void GraphView::zoom_at(QPointF point, double factor) {
  QPointF fixed = camera_.to_scene(point);
  camera_.zoom = std::clamp(camera_.zoom * factor, 0.02, 4.0);
  camera_.origin = fixed - point / camera_.zoom;
  update();
}

void GraphView::zoom(Zoom how) {
  QPointF middle = canvas().center();
  if (how == Zoom::In) zoom_at(middle, 1.25);
  if (how == Zoom::Out) zoom_at(middle, 0.8);
  if (how == Zoom::Reset) zoom_at(middle, 1 / camera_.zoom);
  if (how == Zoom::Fit && !picture_.empty()) frame(extent());
  if (how == Zoom::FitSelection) {
    QRectF box;
    for (size_t i = 0; i < picture_.scene.items.size(); ++i) {
      const auto& ids = picture_.scene.items[i].members;
      if (std::any_of(ids.begin(), ids.end(),
                      [this](Id id) { return selection().isSelected(id) || selection().isRelative(id); }))
        box = box.united(to_rect(picture_.layout.nodes[i]));
    }
    if (!box.isEmpty()) frame(box.adjusted(-60, -40, 60, 40));
  }
}

void GraphView::pan(QPointF by) {
  camera_.origin -= by / camera_.zoom;
  update();
}

// Scrolls as little as needed to show the active node or its nearest relative here.
void GraphView::keep_in_sight() {
  Id wanted = canShow(selection().active);
  if (wanted && !dragging_) reveal(wanted);
}

Id GraphView::canShow(Id id) const {
  if (!id) return 0;
  if (picture_.scene.item_of.contains(id)) return id;
  if (!selection().relatives || selection().active != id) return 0;
  for (Id near : selection().relatives->derived)
    if (picture_.scene.item_of.contains(near)) return near;
  for (Id near : selection().relatives->origins)
    if (picture_.scene.item_of.contains(near)) return near;
  return 0;
}

void GraphView::reveal(Id id) {
  auto it = picture_.scene.item_of.find(id);
  if (it == picture_.scene.item_of.end() || static_cast<size_t>(it->second) >= picture_.layout.nodes.size())
    return;
  QRectF box = to_rect(picture_.layout.nodes[static_cast<size_t>(it->second)]);
  QRectF seen(camera_.to_scene(canvas().topLeft()), camera_.to_scene(canvas().bottomRight()));
  if (seen.contains(box)) return;
  if (box.top() < seen.top() || box.bottom() > seen.bottom())
    camera_.origin.setY(box.center().y() - seen.height() / 2);
  if (box.left() < seen.left() || box.right() > seen.right())
    camera_.origin.setX(box.center().x() - seen.width() / 2);
  update();
}

std::vector<Id> GraphView::shown() const {
  std::vector<Id> out;
  for (const SceneItem& it : picture_.scene.items)
    out.insert(out.end(), it.members.begin(), it.members.end());
  return out;
}

int GraphView::find(const QString& text) {
  matches_.clear();
  match_ = 0;
  const session::GraphRow* g = graph();
  if (g && !text.isEmpty()) {
    bool regex = text.size() > 2 && text.startsWith('/') && text.endsWith('/');
    QRegularExpression pattern(regex ? text.mid(1, text.size() - 2) : QRegularExpression::escape(text),
                               QRegularExpression::CaseInsensitiveOption);
    for (const session::NodeRow& node : session()->nodes.of(g->id)) {
      QString words =
          QString::fromStdString(node.name + "\n" + node.op + "\n" + node.type + "\n" + node.module);
      if (pattern.isValid() && words.contains(pattern)) matches_.push_back(node.id);
    }
  }
  if (!matches_.empty()) reveal(matches_.front());
  update();
  return static_cast<int>(matches_.size());
}

void GraphView::findNext(bool forward) {
  if (matches_.empty()) return;
  match_ = (match_ + (forward ? 1 : matches_.size() - 1)) % matches_.size();
  reveal(matches_[match_]);
  Q_EMIT activate(matches_[match_]);
}

QString GraphView::copy(CopyAs) const {
  QStringList lines;
  const session::GraphRow* g = graph();
  if (!g) return {};
  for (const session::NodeRow& node : session()->nodes.of(g->id))
    if (selection().isSelected(node.id) || selection().selected.empty())
      lines << QString::fromStdString(node.name + " = " + node.op + "(" + node.detail + ") : " + node.type);
  return lines.join('\n');
}

void GraphView::resizeEvent(QResizeEvent*) {
  if (!fitted_) fit();
}

void GraphView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.fillRect(rect(), t.canvas);
  if (picture_.empty()) {
    QString why = !session() ? QStringLiteral("The graph of a run stands here.")
                  : shown_graph_
                      ? QStringLiteral("Laying out…")
                      : QStringLiteral("This run has no %1 graph.").arg(QString::fromStdString(stage()));
    drawText(painter, QRect(t.padding(), t.px(8), width() - 2 * t.padding(), t.row()), why, t.ui(13),
             t.text2);
    return;
  }
  PaintState state{&selection(), matches_, &ghosts_, t.motion};
  painter.setClipRect(canvas());
  painted_ = paint_graph(painter, canvas(), picture_, camera_, state);
  paint_minimap(painter, canvas(), picture_, camera_);
  painter.setClipping(false);
  legend_ = paint_legend(painter, legend(), picture_, camera_.zoom);
  if (framing_) {
    painter.fillRect(QRect(pressed_, frame_to_).normalized(), Theme::mix(t.canvas, t.accent, 0.15));
    hairlineBox(painter, QRect(pressed_, frame_to_).normalized(), t.accent);
  }
}

}  // namespace vitrine::views
