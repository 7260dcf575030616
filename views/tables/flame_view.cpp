#include "views/tables/flame_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <functional>

#include "views/kit/painting/paint.h"
#include "views/kit/text/copied.h"
#include "views/kit/text/find_pattern.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/shown.h"
#include "views/tables/compile_time.h"

namespace vitrine::views {

using namespace kit;

namespace {

constexpr int kRow = 22, kLabels = 96, kTop = 4, kLeastBox = 2;  // logical pixels
constexpr double kHeat[] = {0.03, 0.1, 0.25, 0.5};  // part of the whole from which a colour is the next
const char* const kDepths[] = {"run", "frame", "compilation", "stage", "pass, kernel", "kernel"};

// Parts that come to more than what they are part of ran side by side, whatever was recorded of it.
FlameBox box_of(const CompilePart& part) {
  FlameBox out{part.id, part.name, part.note, part.ns, part.work, {}};
  double sum = 0;
  for (const CompilePart& each : part.parts)
    if (FlameBox below = box_of(each); below.ns > 0) {
      sum += below.ns;
      out.below.push_back(std::move(below));
    }
  std::stable_sort(out.below.begin(), out.below.end(),
                   [](const FlameBox& a, const FlameBox& b) { return a.ns > b.ns; });
  if (sum <= out.ns * 1.001) return out;
  FlameBox beside{0, QStringLiteral("side by side"), {}, out.ns, sum, std::move(out.below)};
  std::function<void(FlameBox&)> share = [&](FlameBox& box) {
    box.work = std::max(box.work, box.ns);
    box.ns *= out.ns / sum;
    for (FlameBox& below : box.below) share(below);
  };
  for (FlameBox& below : beside.below) share(below);
  out.below.clear();
  out.below.push_back(std::move(beside));
  return out;
}

// What stands at the right of a box.
QString time_of(const FlameBox& box) {
  if (box.beside()) return QStringLiteral("%1 of work in %2").arg(timeText(box.work), timeText(box.ns));
  return box.work > 0 ? timeText(box.work) + QStringLiteral(" of work") : timeText(box.ns);
}

void each_box(const FlameBox& box, const std::function<void(const FlameBox&)>& f) {
  f(box);
  for (const FlameBox& below : box.below) each_box(below, f);
}

}  // namespace

FlameView::FlameView(Jobs* jobs, QWidget* parent) : View(jobs, parent) {
  setMouseTracking(true);
}

Id FlameView::run() const {
  if (!session()) return 0;
  if (selection().film.run) return selection().film.run;
  return session()->runs.empty() ? 0 : session()->runs[0].id;
}

QString FlameView::subtitle() const {
  if (!root_ || root_->ns <= 0) return {};
  QString out = timeText(root_->ns);
  if (!root_->note.isEmpty()) out += QStringLiteral(", ") + root_->note;
  return out + QStringLiteral("; a double click widens a box");
}

void FlameView::sessionChanged() {
  filled_ = run();
  using Box = std::shared_ptr<const FlameBox>;
  if (!session()) {
    root_.reset();
    return arrange();
  }
  jobs()->run<Box>(
      this, QStringLiteral("flame"),
      [data = session(), run = run(), one = compilation()](const Cancel&) -> Box {
        return std::make_shared<FlameBox>(box_of(compile_time({*data, run, one})));
      },
      [this](Box root) {
        root_ = std::move(root);
        pointed_ = nullptr;
        matches_.clear();
        arrange();
        Q_EMIT headerChanged();
      });
}

void FlameView::selectionChanged(ChangeMask mask) {
  if (mask & ChangeFilm && filled_ != run()) return sessionChanged();
  update();
}

// What is zoomed to has the whole width, what it is part of stands above it.
void FlameView::arrange() {
  places_.clear();
  if (root_ && root_->ns > 0) {
    const FlameBox* box = root_.get();
    QRectF rect(theme().px(kLabels), theme().px(kTop),
                std::max(1, width() - theme().px(kLabels) - theme().padding()), theme().px(kRow) - 1);
    int depth = 0;
    for (const size_t next : zoomed_) {
      if (next >= box->below.size()) break;
      places_.push_back({box, rect, depth++});
      rect.translate(0, theme().px(kRow));
      box = &box->below[next];
    }
    put(*box, rect, depth);
  }
  update();
}

// The longest come first, so that those too narrow to be seen stand at the end, as one.
void FlameView::put(const FlameBox& box, QRectF rect, int depth) {
  places_.push_back({&box, rect, depth});
  double sum = 0, rest = 0;
  for (const FlameBox& below : box.below) sum += below.ns;
  const double whole = std::max(sum, box.ns);
  double x = rect.left();
  rest = sum;
  for (size_t i = 0; i < box.below.size(); ++i) {
    const FlameBox& below = box.below[i];
    const double wide = rect.width() * below.ns / whole;
    const QRectF place(x, rect.top() + theme().px(kRow), wide, rect.height());
    if (wide < kLeastBox) {
      const double all = rect.width() * rest / whole;
      if (all >= kLeastBox)
        places_.push_back({&below, QRectF(x, place.top(), all, place.height()), depth + 1,
                           static_cast<int64_t>(box.below.size() - i), rest});
      return;
    }
    put(below, place, depth + 1);
    x += wide;
    rest -= below.ns;
  }
}

const FlameView::Place* FlameView::at(QPointF point) const {
  for (const Place& place : places_)
    if (place.rect.contains(point)) return &place;
  return nullptr;
}

// What stands above a box.
const FlameBox* FlameView::above(const Place& place) const {
  for (const Place& each : places_)
    if (each.depth == place.depth - 1 && !each.together && each.rect.left() <= place.rect.left() + 0.01 &&
        each.rect.right() >= place.rect.right() - 0.01)
      return each.box;
  return nullptr;
}

void FlameView::zoomTo(const FlameBox* wanted) {
  std::vector<size_t> way;
  std::function<bool(const FlameBox&)> find = [&](const FlameBox& box) {
    if (&box == wanted) return true;
    for (size_t i = 0; i < box.below.size(); ++i) {
      way.push_back(i);
      if (find(box.below[i])) return true;
      way.pop_back();
    }
    return false;
  };
  if (root_ && wanted && find(*root_)) zoomed_ = way;
  arrange();
}

void FlameView::zoom(Zoom how) {
  const FlameBox* box = pointed_;
  for (const Place& place : places_)
    if (!box && isActive(place.id())) box = place.box;
  if (how == Zoom::In || how == Zoom::FitSelection) return zoomTo(box);
  if (how == Zoom::Out && !zoomed_.empty())
    zoomed_.pop_back();
  else
    zoomed_.clear();
  arrange();
}

int FlameView::find(const QString& text) {
  matches_.clear();
  match_ = 0;
  const QRegularExpression pattern = findPattern(text);
  if (root_ && !text.isEmpty() && pattern.isValid())
    each_box(*root_, [&](const FlameBox& box) {
      if (box.name.contains(pattern)) matches_.push_back(&box);
    });
  update();
  return static_cast<int>(matches_.size());
}

void FlameView::findNext(bool forward) {
  if (matches_.empty()) return;
  match_ = (match_ + (forward ? 1 : matches_.size() - 1)) % matches_.size();
  if (matches_[match_]->id) Q_EMIT activate(matches_[match_]->id);
}

QString FlameView::copy(CopyAs as) const {
  if (!root_) return {};
  const bool csv = as == CopyAs::Csv;
  QStringList lines{separated({"depth", "name", "ns", "work ns", "note"}, csv)};
  std::function<void(const FlameBox&, int)> walk = [&](const FlameBox& box, int depth) {
    const QString work = box.work > 0 ? QString::number(box.work, 'f', 0) : QString();
    lines << separated({QString::number(depth), box.name, QString::number(box.ns, 'f', 0), work, box.note},
                       csv);
    for (const FlameBox& below : box.below) walk(below, depth + 1);
  };
  walk(*root_, 0);
  return lines.join('\n');
}

Id FlameView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Origins, [this](Id wanted) {
    return wanted && std::any_of(places_.begin(), places_.end(),
                                 [wanted](const Place& place) { return place.id() == wanted; });
  });
}

std::vector<Id> FlameView::shown() const {
  std::vector<Id> out;
  for (const Place& place : places_)
    if (place.id()) out.push_back(place.id());
  return out;
}

std::vector<Thing> FlameView::things() const {
  std::vector<Thing> out;
  for (const Place& place : places_)
    if (place.id()) out.push_back({place.id(), place.rect.toRect()});
  return out;
}

QString FlameView::tip(const FlameBox& box) const {
  const QString part = root_->ns > 0 ? percentText(box.ns / root_->ns) : unknown();
  QString out = QStringLiteral("%1\n%2, %3 of the run's compiling").arg(box.name, time_of(box), part);
  if (!box.note.isEmpty()) out += '\n' + box.note;
  return out;
}

void FlameView::paint_box(QPainter& painter, const Place& place) const {
  const Theme& t = theme();
  const FlameBox& box = *place.box;
  const double part = root_->ns > 0 ? (place.together ? place.ns : box.ns) / root_->ns : 0;
  const auto heat =
      std::count_if(std::begin(kHeat), std::end(kHeat), [&](double from) { return part >= from; });
  const QRectF rect = place.rect.adjusted(0, 0, place.rect.width() > 3 ? -1 : 0, 0);
  painter.fillRect(rect, box.beside() ? t.hull : t.heat(static_cast<int>(heat)));
  // A little heat is as pale as the page: what tells such a box from it is its edge.
  if (box.beside())
    dashedBox(painter, rect, t.hullLine);
  else if (heat == 0)
    hairlineBox(painter, rect, t.nodeLine);
  const bool found = std::find(matches_.begin(), matches_.end(), &box) != matches_.end();
  if (found) dashedBox(painter, rect, t.text2);
  drawMark(painter, rect, selection().mark(place.id()), place.id() && selection().isHovered(place.id()), 0);
  // A name, and its time where there is room for both.
  const QString text = place.together ? QStringLiteral("%1 more").arg(place.together) : box.name;
  const QString time = place.together ? QString() : time_of(box);
  const QRect inside = rect.toRect().adjusted(t.px(5), 0, -t.px(4), 0);
  const int name = textWidth(t.ui(11), text), number = textWidth(t.mono(11), time);
  if (inside.width() < t.px(24)) return;
  const bool both = inside.width() >= name + number + t.px(8);
  drawText(painter, inside, text, t.ui(11), t.text1, Qt::AlignLeft, Elide::Middle);
  if (both) drawText(painter, inside, time, t.mono(11), t.text1, Qt::AlignRight);
}

void FlameView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.fillRect(rect(), t.bg1);
  if (places_.empty())
    return paintEmpty(painter, rect(),
                      !session() ? QStringLiteral("What compiling took stands here.")
                      : !root_   ? QString()
                      : session()->compilations.empty()
                          ? QStringLiteral("No compile time: nothing was compiled.")
                          : QStringLiteral("No compile time: it was not recorded."));
  int labelled = -1;
  for (const Place& place : places_) {
    if (place.depth > labelled && place.depth < static_cast<int>(std::size(kDepths))) {
      labelled = place.depth;
      drawText(painter,
               {t.padding(), static_cast<int>(place.rect.top()), t.px(kLabels) - t.padding(), t.px(kRow)},
               QString::fromLatin1(kDepths[labelled]), t.ui(11), t.text3);
    }
    paint_box(painter, place);
  }
}

void FlameView::resizeEvent(QResizeEvent*) {
  arrange();
}

void FlameView::mouseMoveEvent(QMouseEvent* event) {
  const Place* place = at(event->position());
  pointed_ = place && !place->together ? place->box : nullptr;
  Q_EMIT hover(pointed_ ? pointed_->id : 0);
}

void FlameView::mousePressEvent(QMouseEvent* event) {
  const Place* place = at(event->position());
  if (event->button() == Qt::MiddleButton && place && place->id())
    return Q_EMIT openIn(place->id(), {}, true);
  if (event->button() != Qt::LeftButton) return;
  if (event->modifiers() & Qt::ControlModifier && place && place->id()) return Q_EMIT toggle(place->id());
  Q_EMIT activate(place ? place->id() : 0);
}

void FlameView::mouseDoubleClickEvent(QMouseEvent* event) {
  const Place* place = at(event->position());
  if (place && !place->together)
    zoomTo(place->box);
  else if (place)  // what it is part of has room for more of them
    zoomTo(above(*place));
  else
    zoom(Zoom::Fit);
}

void FlameView::wheelEvent(QWheelEvent* event) {
  if (!(event->modifiers() & Qt::ControlModifier)) return event->ignore();
  zoom(event->angleDelta().y() > 0 ? Zoom::In : Zoom::Out);
}

void FlameView::leaveEvent(QEvent*) {
  pointed_ = nullptr;
  Q_EMIT hover(0);
}

bool FlameView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return View::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  if (const Place* place = at(help->pos()))
    QToolTip::showText(
        help->globalPos(),
        place->together ? QStringLiteral("%1 of less time each; a double click widens what they are part of")
                              .arg(place->together)
                        : kit::tip(tip(*place->box)),
        this);
  else
    QToolTip::hideText();
  return true;
}

}  // namespace vitrine::views
