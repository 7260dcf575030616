#include "views/timeline/timeline_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "views/kit/painting/paint.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/copied.h"
#include "views/kit/text/find_pattern.h"
#include "views/kit/text/numbers.h"
#include "views/timeline/steps.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr double kLabels = 148;   // width of the lane labels
constexpr double kEndRoom = 140;  // for the difference behind the compiled lane
constexpr int kDragFrom = 4;
constexpr double kBesideStep = 0.1;  // of a step, seen of its neighbours when a script opens
constexpr double kLeastThing = 3;    // pixels of a slice that a screen reader tells
}  // namespace

TimelineView::TimelineView(Jobs* jobs, QWidget* parent) : View(jobs, parent) {
  setMouseTracking(true);
}

Id TimelineView::run() const {
  if (!session()) return 0;
  if (selection().film.run) return selection().film.run;
  return session()->runs.empty() ? 0 : session()->runs[0].id;
}

QString TimelineView::subtitle() const {
  if (!session()) return {};
  QStringList parts;
  if (const QString doubt = shortDoubt(*session(), run(), session::TimesOf::Both); !doubt.isEmpty())
    parts << doubt;
  const QString kept = keptCalls(*session(), run());
  if (timeline_ && !timeline_->steps.empty()) parts << steps_text(*timeline_);
  if (const QString both = timeline_ ? both_text(*timeline_) : QString(); !both.isEmpty()) parts << both;
  if (timeline_ && timeline_->script)
    parts << QStringLiteral("calls of what was compiled, as they happened")
          << (kept.isEmpty() ? QStringLiteral("all of them") : kept);
  const session::RunTimes times = runTimes(*session(), run());
  if (times.eager.plain.calls)
    parts << QStringLiteral("times: median of %1 interleaved calls").arg(times.eager.plain.calls);
  for (const char* side : {"eager", "compiled"})
    if (const std::string basis = times.basis(side); !basis.empty())
      parts << QLatin1String(side) + QStringLiteral(" slices: ") + QString::fromStdString(basis);
  return parts.join(QStringLiteral("; "));
}

QList<QWidget*> TimelineView::headerControls() {
  aligned_ =
      new MenuButton(QStringLiteral("Align"), {QStringLiteral("start"), QStringLiteral("active")}, this);
  aligned_->setCurrent(align_active_);
  aligned_->setToolTip(QStringLiteral(
      "Both halves from 0, or what is active below its eager partner: inserted time is not counted"));
  connect(aligned_, &MenuButton::chosen, this, [this](int index) { alignActive(index == 1); });
  struct Row {
    const char* icon;
    const char* says;
    std::function<void()> act;
  };
  QList<QWidget*> out{aligned_};
  for (const Row& row : {Row{"search", "Find a slice (Ctrl+F)",
                             [this] {
                               setFocus();
                               Q_EMIT commandRequested(QStringLiteral("edit.find"));
                             }},
                         Row{"minus", "Zoom out (S, Ctrl+−)", [this] { zoom(Zoom::Out); }},
                         Row{"plus", "Zoom in (W, Ctrl+=)", [this] { zoom(Zoom::In); }},
                         Row{"expand", "All of it (Z)", [this] { zoom(Zoom::Fit); }}}) {
    QToolButton* button = iconButton(QString::fromLatin1(row.icon), QString::fromUtf8(row.says), this);
    connect(button, &QToolButton::clicked, this, row.act);
    out << button;
  }
  return out;
}

void TimelineView::alignActive(bool on) {
  align_active_ = on;
  if (aligned_) aligned_->setCurrent(on);
  align();
  update();
}

// Of several eager partners the first; without an active slice that has one, both halves begin at 0.
void TimelineView::align() {
  timeline_ = loaded_;
  if (!align_active_ || !loaded_ || loaded_->ribbons.empty()) return;
  const Id active = canShow(selection().active);
  for (const Ribbon& r : loaded_->ribbons) {
    const Slice& eager = loaded_->lanes[static_cast<size_t>(loaded_->facing_eager)].slices[r.eager];
    const Slice& compiled = loaded_->lanes[static_cast<size_t>(loaded_->facing_compiled)].slices[r.compiled];
    if (!active || (eager.entity != active && compiled.entity != active)) continue;
    timeline_ = shifted(*loaded_, eager.start - compiled.start);
    return;
  }
}

void TimelineView::sessionChanged() {
  matches_.clear();
  if (!session() || !session()->texts) {
    loaded_.reset();
    timeline_.reset();
    return update();
  }
  jobs()->run<TimelinePtr>(
      this, QStringLiteral("timeline"),
      [data = session(), id = run()](const Cancel&) { return load_timeline(*data, id); },
      [this](TimelinePtr loaded) {
        bool other = !loaded_ || loaded_->run != loaded->run || loaded_->end_ns != loaded->end_ns;
        loaded_ = std::move(loaded);
        align();
        if (other) open_first();
        Q_EMIT headerChanged();
        update();
      });
}

void TimelineView::selectionChanged(ChangeMask mask) {
  if ((mask & ChangeFilm) && timeline_ && timeline_->run != run()) return sessionChanged();
  if (mask & (ChangeActive | ChangeRelatives) && !dragging_) {
    if (align_active_) align();
    if (Id id = canShow(selection().active)) reveal(id);
  }
  update();
}

void TimelineView::fit() {
  window_.left = theme().px(kLabels);
  if (!timeline_ || timeline_->empty()) return;
  window_.from = 0;
  window_.scale = std::max(1e-9, (width() - window_.left - theme().px(kEndRoom)) /
                                     std::max<double>(1, static_cast<double>(timeline_->end_ns)));
  fitted_ = true;
}

// A script opens at a step like most of them, not at what it compiled: all of it is a key away.
void TimelineView::open_first() {
  fit();
  const int steady = timeline_ ? steady_step(*timeline_) : -1;
  if (steady < 0) return;
  const ScriptStep& step = timeline_->steps[static_cast<size_t>(steady)];
  const auto wide = static_cast<double>(std::max(step.end, eager_step(*timeline_).end) - step.start);
  window_.scale = (width() - window_.left) / (wide * (1 + 2 * kBesideStep));
  window_.from = step.start - static_cast<int64_t>(wide * kBesideStep);
  opened_ = window_;
}

void TimelineView::clamp() {
  if (!timeline_) return;
  double visible = (width() - window_.left) / window_.scale;
  int64_t room = static_cast<int64_t>(visible * 0.9);
  window_.from = std::clamp<int64_t>(window_.from, -room, std::max<int64_t>(0, timeline_->end_ns));
  update();
}

void TimelineView::zoom_at(double x, double factor) {
  if (!timeline_) return;
  int64_t fixed = window_.ns(x);
  window_.scale = std::clamp(window_.scale * factor,
                             100 / std::max<double>(1000, static_cast<double>(timeline_->end_ns)) / 4, 50.0);
  window_.from = fixed - static_cast<int64_t>((x - window_.left) / window_.scale);
  clamp();
  look();
}

void TimelineView::pan(double pixels) {
  window_.from -= static_cast<int64_t>(pixels / window_.scale);
  clamp();
  look();
}

void TimelineView::look() {
  Q_EMIT looksAt(static_cast<double>(window_.from), window_.scale);
}

void TimelineView::lookAt(double top, double zoom) {
  window_.from = static_cast<int64_t>(top);
  if (zoom > 0) window_.scale = zoom;
  update();
}

void TimelineView::zoom(Zoom how) {
  double middle = (window_.left + width()) / 2;
  if (how == Zoom::In) zoom_at(middle, 1.4);
  if (how == Zoom::Out) zoom_at(middle, 1 / 1.4);
  if (how == Zoom::Fit || how == Zoom::Reset) fit();
  if (how == Zoom::FitSelection) {
    auto [lane, slice] = place_of(canShow(selection().active));
    if (lane >= 0) {
      const Slice& s = timeline_->lanes[static_cast<size_t>(lane)].slices[slice];
      window_.scale = (width() - window_.left) / (3.0 * std::max<double>(1, static_cast<double>(s.duration)));
      window_.from = s.start - s.duration;
    }
  }
  look();
  update();
}

std::pair<int, size_t> TimelineView::place_of(Id id) const {
  if (!timeline_ || !id) return {-1, 0};
  const auto it = timeline_->first_of.find(id);
  return it == timeline_->first_of.end() ? std::pair(-1, size_t{0}) : it->second;
}

Id TimelineView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Derived,
                      [this](Id wanted) { return place_of(wanted).first >= 0; });
}

// Of many calls the one in sight does; else that of a step like most of them, before the first, which
// compiles.
void TimelineView::reveal(Id id) {
  auto [lane, index] = place_of(id);
  if (lane < 0) return;
  const auto& slices = timeline_->lanes[static_cast<size_t>(lane)].slices;
  const Slice* at = &slices[index];
  const int steady = steady_step(*timeline_);
  const ScriptStep step = steady < 0 ? ScriptStep() : timeline_->steps[static_cast<size_t>(steady)];
  for (const Slice& s : slices) {
    if (s.entity != slices[index].entity) continue;
    if (window_.x(s.end()) >= window_.left && window_.x(s.start) <= width()) return;
    if (s.start >= step.start && s.start < step.end) at = &s;
  }
  window_.from = at->start - static_cast<int64_t>((width() - window_.left) / window_.scale / 3);
  clamp();
}

std::vector<Id> TimelineView::shown() const {
  std::vector<Id> out;
  if (!timeline_) return out;
  for (const TimelineLane& lane : timeline_->lanes)
    for (const Slice& s : lane.slices)
      if (s.entity) out.push_back(s.entity);
  return out;
}

// Slices that can be told apart, lane by lane.
std::vector<Thing> TimelineView::things() const {
  std::vector<Thing> out;
  if (!timeline_ || timeline_->empty()) return out;
  std::set<Id> named;
  for (const LanePlace& place : place_lanes(*timeline_, rect()).lanes)
    for (const Slice& s : timeline_->lanes[static_cast<size_t>(place.lane)].slices) {
      const double from = std::max(window_.left, window_.x(s.start)), to = window_.x(s.end());
      if (!s.entity || to < window_.left || from > width() || to - from < kLeastThing) continue;
      if (named.insert(s.entity).second)
        out.push_back({s.entity, QRectF(from, place.top, to - from, place.height).toRect()});
    }
  return out;
}

int TimelineView::find(const QString& text) {
  matches_.clear();
  match_ = 0;
  const QRegularExpression pattern = findPattern(text);
  if (timeline_ && !text.isEmpty() && pattern.isValid()) {
    for (size_t l = 0; l < timeline_->lanes.size(); ++l)
      for (size_t i = 0; i < timeline_->lanes[l].slices.size(); ++i)
        if (slice_name(*session(), timeline_->lanes[l].slices[i]).contains(pattern))
          matches_.emplace_back(static_cast<int>(l), i);
  }
  update();
  return static_cast<int>(matches_.size());
}

void TimelineView::findNext(bool forward) {
  if (matches_.empty()) return;
  match_ = (match_ + (forward ? 1 : matches_.size() - 1)) % matches_.size();
  const Slice& s =
      timeline_->lanes[static_cast<size_t>(matches_[match_].first)].slices[matches_[match_].second];
  if (s.entity) Q_EMIT activate(s.entity);
}

QString TimelineView::copy(CopyAs as) const {
  if (!timeline_) return {};
  QStringList lines;
  for (const TimelineLane& lane : timeline_->lanes)
    for (const Slice& s : lane.slices)
      lines << kit::separated(
          {lane.label, slice_name(*session(), s), QString::number(s.start), QString::number(s.duration)},
          as == CopyAs::Csv);
  return lines.join('\n');
}

const Slice* TimelineView::slice_at(const TimelineHit& hit) const {
  return hit.lane < 0 ? nullptr : &timeline_->lanes[static_cast<size_t>(hit.lane)].slices[hit.slice];
}

// Extending goes on from where the cursor is, and keeps what is active.
void TimelineView::step(int by, bool extend) {
  if (!timeline_ || timeline_->empty()) return;
  const Id cursor = extend && selection().isSelected(selection().hover) ? selection().hover : 0;
  auto [lane, index] = place_of(cursor ? cursor : canShow(selection().active));
  const bool known = lane >= 0;
  if (!known) lane = std::max(0, timeline_->facing_compiled), index = 0;
  const auto& slices = timeline_->lanes[static_cast<size_t>(lane)].slices;
  for (int64_t i = static_cast<int64_t>(index) + (known ? by : 0);
       i >= 0 && i < static_cast<int64_t>(slices.size()); i += by) {
    const Id id = slices[static_cast<size_t>(i)].entity;
    if (!id || id == cursor || (extend && id == selection().active)) continue;
    if (!extend) return Q_EMIT activate(id);
    if (!selection().isSelected(id)) Q_EMIT toggle(id);
    return Q_EMIT hover(id);
  }
}

void TimelineView::jump() {
  auto [lane, index] = place_of(canShow(selection().active));
  if (lane < 0) return;
  const bool from_eager = lane == timeline_->facing_eager;
  const int other = from_eager ? timeline_->facing_compiled : timeline_->facing_eager;
  for (const Ribbon& r : timeline_->ribbons)
    if (other >= 0 && (from_eager ? r.eager : r.compiled) == index)
      return Q_EMIT activate(
          timeline_->lanes[static_cast<size_t>(other)].slices[from_eager ? r.compiled : r.eager].entity);
}

QString TimelineView::why_empty() const {
  if (!session()) return QStringLiteral("Eager and compiled runs stand here, one above the other.");
  const session::RunRow* row = session()->runs.find(run());
  if (row && row->device.find("compiled only") != std::string::npos)
    return QStringLiteral("No timeline: nothing ran on that device, it was compiled for only.");
  if (row && row->status == "running") return QStringLiteral("No timeline: the run has not come to it yet.");
  if (row && row->status != "finished")
    return QStringLiteral("No timeline: the run ended before it was measured.");
  return QStringLiteral("No timeline: this run was not measured.");
}

void TimelineView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  if (!timeline_ || timeline_->empty()) {
    painter.fillRect(rect(), t.bg1);
    return paintEmpty(painter, rect(), why_empty());
  }
  paint_timeline(painter, rect(), *session(), *timeline_, window_, selection(), matches_, beside_);
}

void TimelineView::setBeside(LaunchesBeside beside) {
  beside_ = std::move(beside);
  update();
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  if (opened_ && opened_->from == window_.from && opened_->scale == window_.scale) return open_first();
  bool whole =
      !fitted_ || (window_.from == 0 && std::abs(window_.x(timeline_ ? timeline_->end_ns : 0) -
                                                 (event->oldSize().width() - theme().px(kEndRoom))) < 2);
  if (whole) fit();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  dragging_ = false;
  if (!timeline_) return;
  TimelineHit hit = hit_timeline(*timeline_, place_lanes(*timeline_, rect()), window_, pressed_);
  ranging_ = event->button() == Qt::LeftButton && (hit.ruler || event->modifiers() & Qt::ShiftModifier);
  range_from_ = window_.ns(pressed_.x());
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (!timeline_) return;
  if (event->buttons() && ranging_) {
    int64_t to = window_.ns(event->position().x());
    Q_EMIT rangeWanted({std::min(range_from_, to), std::max(range_from_, to)});
  } else if (event->buttons()) {
    if (!dragging_ && (event->position() - pressed_).manhattanLength() < kDragFrom) return;
    dragging_ = true;
    pan(event->position().x() - pressed_.x());
    pressed_ = event->position();
  } else {
    const Slice* s =
        slice_at(hit_timeline(*timeline_, place_lanes(*timeline_, rect()), window_, event->position()));
    Q_EMIT hover(s ? s->entity : 0);
  }
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  bool click = !dragging_ && !ranging_;
  if (ranging_ && (event->position() - pressed_).manhattanLength() < kDragFrom) Q_EMIT rangeWanted({});
  dragging_ = ranging_ = false;
  const bool menu = event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton;
  if (!click || !timeline_ || menu) return;
  const Slice* s =
      slice_at(hit_timeline(*timeline_, place_lanes(*timeline_, rect()), window_, event->position()));
  Id id = s ? s->entity : 0;
  if (event->button() == Qt::MiddleButton && id)
    Q_EMIT openIn(id, QString(), true);
  else if (event->modifiers() & Qt::ControlModifier && id)
    Q_EMIT toggle(id);
  else
    Q_EMIT activate(id);
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (!timeline_) return;
  const Slice* s =
      slice_at(hit_timeline(*timeline_, place_lanes(*timeline_, rect()), window_, event->position()));
  if (s && s->entity) Q_EMIT openIn(s->entity, QString(), false);
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  double by = event->angleDelta().y() ? event->angleDelta().y() : event->angleDelta().x();
  if (event->modifiers() & Qt::ControlModifier)
    zoom_at(event->position().x(), std::pow(1.0015, by));
  else
    pan(by / 2);
}

void TimelineView::leaveEvent(QEvent*) {
  Q_EMIT hover(0);
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const bool extend = event->modifiers() & Qt::ShiftModifier;
  switch (event->key()) {
    case Qt::Key_Left:
      return step(-1, extend);
    case Qt::Key_Right:
      return step(1, extend);
    case Qt::Key_Up:
    case Qt::Key_Down:
      return jump();
    default:
      View::keyPressEvent(event);
  }
}

bool TimelineView::act(std::string_view command) {
  const double middle = (window_.left + width()) / 2;
  if (command == "time.in") {
    zoom_at(middle, 1.4);
  } else if (command == "time.out") {
    zoom_at(middle, 1 / 1.4);
  } else if (command == "time.left") {
    pan(width() / 6.0);
  } else if (command == "time.right") {
    pan(-width() / 6.0);
  } else if (command == "go.counterpart") {
    jump();
  } else if (command == "time.range") {
    const auto [lane, i] = place_of(canShow(selection().active));
    if (lane < 0) return true;
    const Slice& s = timeline_->lanes[static_cast<size_t>(lane)].slices[i];
    Q_EMIT rangeWanted({s.start, s.end()});
  } else {
    return false;
  }
  return true;
}

bool TimelineView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !timeline_) return View::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const Slice* s = slice_at(hit_timeline(*timeline_, place_lanes(*timeline_, rect()), window_, help->pos()));
  if (!s) {
    QToolTip::hideText();
    return true;
  }
  if (s->own > 0) {
    const QString told = step_text(*session(), *timeline_, s->own - 1).toHtmlEscaped();
    QToolTip::showText(help->globalPos(), QStringLiteral("<b>step %1</b><br>%2").arg(s->own).arg(told), this);
    return true;
  }
  QString text =
      QStringLiteral("<b>%1</b><br>%2, from %3")
          .arg(slice_name(*session(), *s).toHtmlEscaped(), timeText(static_cast<double>(s->duration)),
               timeText(static_cast<double>(s->start)));
  if (const auto other = beside_.find(s->entity); other != beside_.end()) {
    const LaunchBeside& b = other->second;
    text += b.alone        ? QStringLiteral("<br>not in the other session")
            : b.by_ns != 0 ? QStringLiteral("<br>%1 than in the other session, where it takes %2")
                                 .arg(timeText(std::abs(b.by_ns)) + (b.by_ns > 0 ? " longer" : " shorter"),
                                      timeText(b.of_ns))
                           : QStringLiteral("<br>no difference seen to the other session");
  }
  if (s->relation) text += QStringLiteral("<br>") + session()->label(s->relation).toHtmlEscaped();
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace vitrine::views
