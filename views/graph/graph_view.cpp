#include "views/graph/graph_view.h"

#include <QPainter>
#include <algorithm>
#include <limits>
#include <map>

#include "core/session/launches.h"
#include "core/session/stages.h"
#include "views/graph/graph_text.h"
#include "views/graph/rows.h"
#include "views/graph/traffic.h"
#include "views/kit/painting/paint.h"
#include "views/kit/session/missing.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/find_pattern.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using namespace kit;

namespace {
QStringList group_names() {  // by Grouping
  return {QStringLiteral("modules"), QStringLiteral("kernels"), QStringLiteral("none")};
}

constexpr double kReadable = 0.75;  // the first picture does not zoom out further
constexpr double kNamed = 0.5;      // names can be read still: of a picture that is too wide all columns
constexpr double kHopeless = 0.15;  // of a still wider one the beginning, readable
constexpr double kEasy = 0.9;       // and of what does not fit anyway, it shows the words well
constexpr double kLargestFit = 1.0;
constexpr double kCompactReadable = 0.75;
constexpr double kAbove = 8;        // pixels over a picture that is longer than the view
constexpr double kLeastFit = 0.05;  // boxes can be told apart still
}  // namespace

GraphView::GraphView(Jobs* jobs, QWidget* parent) : View(jobs, parent) {
  setMouseTracking(true);
}

QString GraphView::title() const {
  for (const session::StageInfo& info : session::kStages)
    if (info.name == stage())
      return vitrine::s(info.title) +
             (stage() == "loops" || stage() == "fused" ? QString() : QStringLiteral(" graph"));
  return QStringLiteral("Graph");
}

QString GraphView::subtitle() const {
  const QString what = counts();
  if (what.isEmpty()) return what;
  const Id run = session()->runOf(compilation());
  QStringList times;
  if (colour_ == Colour::Time) {
    times << shownCallText(*session(), run);
  } else if (showsTimes()) {
    times << QStringLiteral("launches of a call, added")
          << shortDoubt(*session(), run, session::TimesOf::ShownCall);
  }
  times.removeAll(QString());
  return times.isEmpty() ? what : what + "; times: " + times.join("; ");
}

// Groups have the times of their kernels whatever the colours mean.
bool GraphView::showsTimes() const {
  if (stage() != "fused" && stage() != "loops" && stage() != "optimised") return false;
  const auto launches = session()->launches.of(compilation());
  return std::any_of(launches.begin(), launches.end(), [](const auto& each) { return each.median_ns > 0; });
}

QString GraphView::counts() const {
  const session::GraphRow* g = graph();
  if (!g) return {};
  if (stage() == "loops") return loopCounts(*g);
  if (const QString fused = stage() == "fused" ? fusedCounts(*g) : QString(); !fused.isEmpty()) return fused;
  size_t ops = 0, coming = 0;
  for (const session::NodeRow& node : session()->nodes.of(g->id)) {
    ops += node.kind == "op";
    coming += node.kind == "op" && ghosts_.step_of.contains(node.id);
  }
  if (coming) return QStringLiteral("%1 of %2 nodes").arg(ops - coming).arg(ops);
  return countText(static_cast<qint64>(ops), "node");
}

// "4 kernels, 4 library calls, 1 of PyTorch, 9 launches": those of the tables. One label may stand for two
// kernels, and an operator whose work another kernel does has a label that nothing launches.
QString GraphView::fusedCounts(const session::GraphRow& g) const {
  std::map<std::string, qint64> kinds;
  for (const session::KernelRow& kernel : session()->kernels.of(g.compilation)) ++kinds[kernel.kind];
  if (kinds.empty()) return {};
  QString out = countText(kinds["generated"], "kernel");
  if (kinds["library"]) out += ", " + countText(kinds["library"], "library call");
  if (kinds["opaque"]) out += QStringLiteral(", %1 of PyTorch").arg(kinds["opaque"]);
  return out + ", " +
         countText(session::launches_in(session()->launches.of(g.compilation)), "launch", "launches");
}

// "10 loop nests, 5 other operators": what is computed where it is read is no nest of its own.
QString GraphView::loopCounts(const session::GraphRow& g) const {
  const auto labels = kernel_labels(*session(), g.compilation);
  qint64 nests = 0, others = 0;
  for (const session::NodeRow& node : session()->nodes.of(g.id)) {
    if (node.kind != "op") continue;
    auto told = [&](const char* kind) { return node.detail.find(kind) != std::string::npos; };
    if (told(": inlined for ")) continue;
    const auto label = labels.find(node.stable);
    const bool in_kernel = label != labels.end() && label->second.starts_with('K');
    const bool nest = told(" loop=\"") ? told(": pointwise for ") || told(": reduction for ") : in_kernel;
    (nest ? nests : others) += 1;
  }
  const QString out = countText(nests, "loop nest");
  return others ? out + ", " + countText(others, "other operator") : out;
}

QList<QWidget*> GraphView::headerControls() {
  colours_ = new MenuButton(QStringLiteral("Colour"), colour_names(), this);
  colours_->setCurrent(static_cast<int>(colour_));
  colours_->setToolTip(QStringLiteral("What the fill of a node tells (C)"));
  connect(colours_, &MenuButton::chosen, this, [this](int index) { colourBy(static_cast<Colour>(index)); });
  groups_ = new MenuButton(QStringLiteral("Groups"), group_names(), this);
  groups_->setCurrent(static_cast<int>(grouping()));
  groups_->setToolTip(QStringLiteral("What stands together (G)"));
  connect(groups_, &MenuButton::chosen, this, [this](int index) { group_by(static_cast<Grouping>(index)); });
  QToolButton* search =
      iconButton(QStringLiteral("search"), QStringLiteral("Find in the graph (Ctrl+F)"), this);
  connect(search, &QToolButton::clicked, this, [this] {
    setFocus();
    Q_EMIT commandRequested(QStringLiteral("edit.find"));
  });
  return {colours_, groups_, search};
}

void GraphView::colourBy(Colour colour) {
  colour_ = colour;
  if (colours_) colours_->setCurrent(static_cast<int>(colour_));
  Q_EMIT headerChanged();
  rebuild();
}

void GraphView::group_by(Grouping grouping) {
  grouping_ = static_cast<int>(grouping);
  if (groups_) groups_->setCurrent(grouping_);
  rebuild();
}

Grouping GraphView::grouping() const {
  if (grouping_ >= 0) return static_cast<Grouping>(grouping_);
  return stage() == "fused" ? Grouping::Kernels : stage() == "loops" ? Grouping::None : Grouping::Modules;
}

void GraphView::sessionChanged() {
  shown_graph_ = 0;
  rebuild();
}

void GraphView::forgetPlaces() {
  fitted_ = moved_ = all_open_ = false;
  opened_.clear();
  closed_.clear();
  matches_.clear();
}

void GraphView::stageChanged() {
  fitted_ = false;
  if (groups_) groups_->setCurrent(static_cast<int>(grouping()));
  sessionChanged();
}

void GraphView::selectionChanged(ChangeMask mask) {
  const session::GraphRow* g = graph();
  if ((mask & ChangeFilm) && ((g ? g->id : 0) != shown_graph_ || film_here() != shown_film_ ||
                              selection().film.rewrite != shown_rewrite_))
    rebuild();
  if (mask & ChangeFilm) {
    Ghosts ghosts = g ? ghosts_of(*session(), selection().film, *g) : Ghosts();
    const bool other = ghosts != ghosts_;
    ghosts_ = std::move(ghosts);
    if (other) Q_EMIT headerChanged();
  }
  if (mask & (ChangeActive | ChangeRelatives)) keep_in_sight();
  update();
}

// Where the film stands, if that is in this view's stage.
Id GraphView::film_here() const {
  const session::GraphRow* film = session() ? session()->graphs.find(selection().film.graph) : nullptr;
  return film && film->stage == stage() ? film->id : 0;
}

void GraphView::rebuild() {
  const session::GraphRow* g = graph();
  shown_graph_ = g ? g->id : 0;
  shown_film_ = film_here();
  shown_rewrite_ = selection().film.rewrite;
  ghosts_ = g ? ghosts_of(*session(), selection().film, *g) : Ghosts();
  if (!g) {
    picture_ = {};
    update();
    return;
  }
  const bool loops = stage() == "loops" || stage() == "fused";
  SceneOptions options{grouping(), opened_, closed_, loops, stage() == "fused", loops, 0};
  options.all_open = all_open_;
  if (selection().film.graph == g->id && !g->pass.empty() && g->changed)
    options.before = snapshot_before(*session(), *g),
    options.pending = pending_rewrites(*session(), selection().film, *g);
  options.opened.erase("");
  // While the film stands at a pass all of its pictures share one layout.
  const bool film = selection().film.graph && !loops && is_of_film(*session(), *g);
  if (!film || (film_layout_ && film_layout_->asked != film_key(*session(), *g, options)))
    film_layout_.reset();
  jobs()->run<GraphPicture>(
      this, QStringLiteral("layout"),
      [data = session(), g, options, colour = colour_, loops, film,
       places = film_layout_](const Cancel& cancel) mutable {
        const auto cancelled = [&] { return cancel.requested(); };
        if (film && !places) places = film_layout(*data, *g, options, cancelled);
        if (places) options.only_open = places->open;
        Scene scene = build_scene(*data, g->id, options);
        colour_scene(scene, *data, g->id, colour);
        add_beside(scene, *data, *g);
        GraphPicture out{std::move(scene), {}, loops, {}};
        std::optional<GraphLayout> placed;
        if (places) placed = placed_by(*places, *data, out.scene);
        out.film = placed ? places : nullptr;
        out.layout = placed  ? std::move(*placed)
                     : loops ? layout_rows(out.scene)
                             : layout_graph(out.scene.layout, {}, cancelled);
        out.bound_edges();
        return out;
      },
      [this](GraphPicture picture) { show_picture(std::move(picture)); });
}

// A node that both pictures have keeps its place on the screen; a first picture is fitted, and one that would
// begin out of sight.
void GraphView::show_picture(GraphPicture picture) {
  film_layout_ = picture.film;
  std::swap(picture_, picture);
  const bool first = !fitted_ || picture.empty();
  const bool one_layout = picture_.film && picture_.film == picture.film;
  if (!first && !one_layout) keep_place(picture);
  if (first || !anything_in_sight()) {
    fit();
    fitted_ = !picture_.empty();
    moved_ = false;
  }
  keep_in_sight();
  Q_EMIT headerChanged();
  update();
}

// Of what both pictures show, the thing nearest to the middle of the view stays where it is.
void GraphView::keep_place(const GraphPicture& before) {
  const QRectF seen = seen_scene();
  const QPointF middle = seen.center();
  double least = std::numeric_limits<double>::max();
  QPointF by;
  for (size_t i = 0; i < before.layout.nodes.size(); ++i) {
    const QRectF was = to_rect(before.layout.nodes[i]);
    const double away = (was.center() - middle).manhattanLength();
    const SceneItem& item = before.scene.items[i];
    if (away >= least || !was.intersects(seen) || item.members.empty()) continue;
    const auto now = picture_.scene.item_of.find(item.members.front());
    if (now == picture_.scene.item_of.end()) continue;
    least = away;
    by = to_rect(picture_.layout.nodes[static_cast<size_t>(now->second)]).topLeft() - was.topLeft();
  }
  camera_.origin += by;
}

bool GraphView::anything_in_sight() const {
  const QRectF seen = seen_scene();
  return std::any_of(picture_.layout.nodes.begin(), picture_.layout.nodes.end(),
                     [&](const Box& box) { return to_rect(box).intersects(seen); });
}

QRectF GraphView::seen_scene() const {
  return {camera_.to_scene(drawn().topLeft()), camera_.to_scene(drawn().bottomRight())};
}

QRectF GraphView::legend() const {
  const int high = legend_rows(picture_, size()) * theme().header();
  return QRectF(0, height() - high, width(), high);
}
QRectF GraphView::canvas() const {
  return QRectF(0, 0, width(), legend().top());
}

// The graph with what stands beside it.
QRectF GraphView::extent() const {
  const Beside& beside = picture_.scene.beside;
  const double right = bars_ ? beside.right_room : 0;
  return {-beside.left_room, 0, picture_.layout.width + beside.left_room + right, picture_.layout.height};
}

// Rows keep the width of the pane; what does not fit beside them goes, the bars first.
void GraphView::fit_rows() {
  const QRectF area = canvas();
  for (bool bars : {true, false}) {
    bars_ = bars && !picture_.scene.beside.bars.empty();
    const QRectF whole = extent();
    const bool tall = whole.height() * kCompactReadable > area.height();
    map_ = tall && (area.width() - map_room(area, picture_)) / whole.width() >= kEasy;
    const double width = area.width() - (map_ ? map_room(area, picture_) : 0);
    camera_.zoom = std::clamp(width / whole.width(), kCompactReadable, kLargestFit);
    const double free = width / camera_.zoom - whole.width();
    if (free < 0 && bars_) continue;
    camera_.origin = {whole.left() - std::max(0.0, free / 2), bars_ ? -kBesideHead / 2 : 0};
    // Names of kernels stand at the left and lanes at the right; the rows themselves are seen in any case.
    if (free < 0) camera_.origin.setX(std::min(picture_.layout.nodes[0].x - 12, whole.left() - free));
    return;
  }
}

void GraphView::fit() {
  map_ = true;
  if (picture_.empty()) return;
  if (picture_.compact) return fit_rows();
  const QRectF area = canvas(), whole = extent();
  const double all = std::min(area.width() / whole.width(), area.height() / whole.height());
  double width = area.width();
  camera_.zoom = std::min(all, kLargestFit);
  if (all < kReadable) {
    const double wide = width / whole.width();
    map_ = (width - map_room(area, picture_)) / whole.width() >= kReadable || wide < kNamed;
    if (map_) width -= map_room(area, picture_);
    camera_.zoom = map_ ? std::clamp(width / whole.width(), wide < kHopeless ? kReadable : kNamed, kEasy)
                        : std::min(wide, kEasy);
  }
  const double free = width / camera_.zoom - whole.width();
  camera_.origin = {whole.left() - std::max(0.0, free / 2), 0};
  if (free < 0) camera_.origin.setX(first_in_sight(width / camera_.zoom));
  const double below = area.height() / camera_.zoom - whole.height();
  if (below > 0) camera_.origin.setY(-std::min(below / 2, 24.0));
}

// Where a picture that is too wide begins: its first node stands in the middle, as far as the picture goes.
// If that cuts others at the left and the first is in sight from there, it begins at its left.
double GraphView::first_in_sight(double width) const {
  const QRectF whole = extent();
  const QRectF first = to_rect(picture_.layout.nodes[0]);
  const double middle = std::clamp(first.center().x() - width / 2, whole.left(), whole.right() - width);
  const bool cuts = std::any_of(picture_.layout.nodes.begin(), picture_.layout.nodes.end(),
                                [middle](const Box& box) { return box.x < middle; });
  return cuts && first.right() <= whole.left() + width ? whole.left() : middle;
}

void GraphView::frame(const QRectF& scene) {
  // Where not all of it is shown the map is, which takes its strip.
  const bool part = map_ && !scene.contains(extent().adjusted(24, 24, -24, -24));
  const QRectF area = canvas().adjusted(0, 0, part ? -map_room(canvas(), picture_) : 0, 0);
  camera_.zoom = std::clamp(std::min(area.width() / scene.width(), area.height() / scene.height()) * 0.9,
                            kLeastFit, 1.5);
  camera_.origin = scene.center() - QPointF(area.width(), area.height()) / (2 * camera_.zoom);
  look();
}

// All of it. Where boxes could not be told apart any more, the beginning of it, and the map.
void GraphView::frame_all() {
  const QRectF whole = extent();
  frame(whole);
  QSizeF shown = canvas().size() / camera_.zoom;
  const bool wide = whole.width() > shown.width(), tall = whole.height() > shown.height();
  if (wide || tall) {
    shown.rwidth() -= map_room(canvas(), picture_) / camera_.zoom;
    camera_.origin.setX(whole.width() > shown.width() ? first_in_sight(shown.width())
                                                      : whole.center().x() - shown.width() / 2);
  }
  if (tall) camera_.origin.setY(whole.top() - kAbove / camera_.zoom);
  if (wide || tall) map_ = true;
  look();
}

void GraphView::zoom_at(QPointF point, double factor) {
  QPointF fixed = camera_.to_scene(point);
  camera_.zoom = std::clamp(camera_.zoom * factor, 0.02, 4.0);
  camera_.origin = fixed - point / camera_.zoom;
  moved_ = map_ = true;
  look();
}

void GraphView::zoom(Zoom how) {
  QPointF middle = drawn().center();
  if (how == Zoom::In) zoom_at(middle, 1.25);
  if (how == Zoom::Out) zoom_at(middle, 0.8);
  if (how == Zoom::Reset) zoom_at(middle, 1 / camera_.zoom);
  if (how == Zoom::Fit && !picture_.empty()) frame_all();
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
  moved_ = true;
  camera_.origin -= by / camera_.zoom;
  look();
}

// Scrolls as little as needed to show the active node or its nearest relative here.
void GraphView::keep_in_sight() {
  Id wanted = canShow(selection().active);
  if (wanted && !dragging_) reveal(wanted);
}

Id GraphView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Derived,
                      [this](Id wanted) { return picture_.scene.item_of.contains(wanted); });
}

void GraphView::reveal(Id id) {
  auto it = picture_.scene.item_of.find(id);
  if (it == picture_.scene.item_of.end() || static_cast<size_t>(it->second) >= picture_.layout.nodes.size())
    return;
  QRectF box = to_rect(picture_.layout.nodes[static_cast<size_t>(it->second)]);
  const QRectF seen = seen_scene();
  if (seen.contains(box)) return;
  if (box.top() < seen.top() || box.bottom() > seen.bottom())
    camera_.origin.setY(box.center().y() - seen.height() / 2);
  if (box.left() < seen.left() || box.right() > seen.right())
    camera_.origin.setX(box.center().x() - seen.width() / 2);
  look();
}

void GraphView::look() {
  update();
  if (picture_.compact) Q_EMIT looksAt(camera_.origin.y(), camera_.zoom);
}

// Rows stand at the same heights before and after; what is beside them differs.
void GraphView::lookAt(double top, double zoom) {
  if (!picture_.compact || !fitted_) return;
  const double middle = camera_.to_scene(drawn().center()).x();
  camera_ = {zoom, {middle - drawn().center().x() / zoom, top}};
  moved_ = true;
  update();
}

std::vector<Id> GraphView::shown() const {
  std::vector<Id> out;
  for (const SceneItem& it : picture_.scene.items)
    out.insert(out.end(), it.members.begin(), it.members.end());
  return out;
}

std::vector<Thing> GraphView::things() const {
  std::vector<Thing> out;
  for (size_t i = 0; i < picture_.layout.nodes.size() && i < picture_.scene.items.size(); ++i) {
    const QRectF box = to_rect(picture_.layout.nodes[i]);
    const QRectF seen(camera_.to_view(box.topLeft()), camera_.to_view(box.bottomRight()));
    if (seen.intersects(drawn())) out.push_back({picture_.scene.items[i].id, seen.toRect()});
  }
  return out;
}

int GraphView::find(const QString& text) {
  matches_.clear();
  match_ = 0;
  const session::GraphRow* g = graph();
  if (g && !text.isEmpty()) {
    const QRegularExpression pattern = findPattern(text);
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

// What is copied: the selected nodes, else the relatives of what is active elsewhere, else all.
std::set<Id> GraphView::copied() const {
  std::set<Id> taken, all;
  for (const session::NodeRow& node : session()->nodes.of(graph()->id)) {
    all.insert(node.id);
    if (selection().isSelected(node.id)) taken.insert(node.id);
  }
  for (Id id : taken.empty() ? all : std::set<Id>())
    if (selection().active && selection().isRelative(id)) taken.insert(id);
  return taken.empty() ? all : taken;
}

QString GraphView::copy(CopyAs as) const {
  if (!graph()) return {};
  return as == CopyAs::Csv ? graphDot(*session(), *graph(), copied())
                           : graphText(*session(), graph()->id, copied());
}

QString GraphView::copyPython() const {
  return graph() ? graphPython(*session(), *graph(), copied()) : QString();
}

void GraphView::resizeEvent(QResizeEvent*) {
  if (!fitted_ || !moved_) fit();
}

// The map stands in a strip at the right, at its lower end; the graph has what is left of it.
QRectF GraphView::map() const {
  return map_ ? minimap_rect(canvas(), picture_, camera_) : QRectF();
}
QRectF GraphView::drawn() const {
  const QRectF map = this->map();
  return map.isEmpty() ? canvas() : canvas().adjusted(0, 0, -map_room(canvas(), picture_), 0);
}

QString GraphView::whyEmpty() const {
  if (!session()) return QStringLiteral("The graph of a run stands here.");
  if (shown_graph_) return QStringLiteral("Laying out…");
  return QStringLiteral("No %1 graph. %2")
      .arg(QString::fromStdString(stage()), whyMissing(*session(), compilation(), stage()))
      .trimmed();
}

void GraphView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.fillRect(rect(), t.canvas);
  if (picture_.empty()) {
    return paintEmpty(painter, rect(), whyEmpty());
  }
  PaintState state{&selection(), matches_, &ghosts_, t.motion, bars_, &titles_};
  painter.setClipRect(drawn());
  painted_ = paint_graph(painter, drawn(), picture_, camera_, state);
  if (bars_ && detail_at(camera_.zoom) != Detail::Far) paint_beside_head(painter, drawn(), picture_, camera_);
  painter.setClipRect(canvas());
  if (map_) paint_minimap(painter, canvas(), drawn(), picture_, camera_);
  painter.setClipping(false);
  legend_ = paint_legend(painter, legend(), picture_, camera_.zoom);
  if (framing_) {
    painter.fillRect(QRect(pressed_, frame_to_).normalized(), Theme::mix(t.canvas, t.accent, 0.15));
    hairlineBox(painter, QRect(pressed_, frame_to_).normalized(), t.accent);
  }
}

}  // namespace vitrine::views
