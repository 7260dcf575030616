#include "views/timeline/speedup_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "views/kit/painting/paint.h"
#include "views/kit/session/run_times.h"
#include "views/kit/session/verdict.h"
#include "views/kit/text/copied.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/shown.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr double kTop = 8, kUnitRow = 18, kLeastRow = 16, kMostRow = 26;
constexpr int kGap = 12, kLeastBar = 40, kLeastLabel = 60;
constexpr double kMostLabel = 0.45;  // of the width, where there are bars

// "<0.1" of what is too little to be written has no sign.
QString signedNumber(const MeasureUnit& unit, double ns) {
  const QString text = unit.bound(std::abs(ns));
  return text.startsWith('<') ? text : signedText(text, ns);
}
}  // namespace

SpeedupView::SpeedupView(Jobs* jobs, QWidget* parent) : View(jobs, parent) {
  setMouseTracking(true);
}

Id SpeedupView::run() const {
  if (!session()) return 0;
  if (selection().film.run) return selection().film.run;
  return session()->runs.empty() ? 0 : session()->runs[0].id;
}

QString SpeedupView::subtitle() const {
  if (speedup_.empty()) return {};
  const session::RunTimes times = runTimes(*session(), run());
  QStringList parts;
  if (!times.speed_up.known()) parts << QString::fromStdString(times.speed_up.words());
  if (const QString doubt = shortDoubt(*session(), run(), session::TimesOf::Both); !doubt.isEmpty())
    parts << doubt;
  parts << QStringLiteral("where the time went");
  if (const QString scaled = speedup_.scaled_words(); !scaled.isEmpty()) parts << scaled;
  return parts.join(QStringLiteral("; "));
}

// The rows' one unit, written above their numbers; steps are smaller than both sides, and tell something by a
// decimal.
MeasureUnit SpeedupView::unit() const {
  MeasureUnit out = timeUnit(std::max(speedup_.eager_ns, speedup_.compiled_ns));
  out.decimals = std::max(out.decimals, out.size > 1 ? 1 : 0);
  return out;
}

void SpeedupView::sessionChanged() {
  speedup_ = shown_ = {};
  update();
  if (!session() || !session()->texts) return;
  jobs()->run<Speedup>(
      this, QStringLiteral("speed-up"),
      [data = session(), id = run()](const Cancel&) { return speedup_of(*data, *load_timeline(*data, id)); },
      [this](Speedup loaded) {
        speedup_ = std::move(loaded);
        fit();
        Q_EMIT headerChanged();
        update();
      });
}

void SpeedupView::selectionChanged(ChangeMask mask) {
  if (mask & ChangeFilm) return sessionChanged();
  update();
}

void SpeedupView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  fit();
}

// As many steps as have a row, and how wide their texts are.
void SpeedupView::fit() {
  const Theme& t = theme();
  const auto rows =
      static_cast<size_t>(std::max(3.0, (height() - rows_top() - t.px(kTop)) / t.px(kLeastRow)));
  shown_ = speedup_.fitted(rows - 2);
  label_width_ = number_width_ = 0;
  for (size_t i = 0; i < shown_.steps.size() + 2; ++i) {
    label_width_ = std::max<double>(label_width_, textWidth(t.ui(12, 600), row_text(i)));
    number_width_ = std::max<double>(number_width_, textWidth(t.mono(12, 500), row_number(i)));
  }
}

double SpeedupView::rows_top() const {
  return theme().px(kTop) + theme().px(kUnitRow);
}

QRectF SpeedupView::unit_place() const {
  const Theme& t = theme();
  return {t.padding() * 1.0, t.px(kTop) * 1.0, width() - 2.0 * t.padding(), t.px(kUnitRow) * 1.0};
}

QString SpeedupView::unit_text() const {
  return unit().name;
}

double SpeedupView::row_height() const {
  const double rows = static_cast<double>(shown_.steps.size()) + 2;
  return std::clamp((height() - rows_top() - theme().px(kTop)) / rows, theme().px(kLeastRow) * 1.0,
                    theme().px(kMostRow) * 1.0);
}

QRectF SpeedupView::row(size_t index) const {
  const double h = row_height();
  return {0, rows_top() + h * static_cast<double>(index), width() * 1.0, h};
}

int SpeedupView::step_at(QPointF point) const {
  for (size_t i = 0; i < shown_.steps.size(); ++i)
    if (row(i + 1).contains(point)) return static_cast<int>(i);
  return -1;
}

QString SpeedupView::row_text(size_t index) const {
  if (index == 0) return QStringLiteral("Eager");
  return index > shown_.steps.size() ? QStringLiteral("Compiled") : shown_.steps[index - 1].text;
}

QString SpeedupView::row_number(size_t index) const {
  const MeasureUnit unit = this->unit();
  if (index == 0) return unit.format(shown_.eager_ns);
  return index > shown_.steps.size() ? unit.format(shown_.compiled_ns)
                                     : signedNumber(unit, -shown_.steps[index - 1].ns);
}

// From where to where its bar goes, in ns.
std::pair<double, double> SpeedupView::row_levels(size_t index) const {
  if (index == 0) return {0, shown_.eager_ns};
  if (index > shown_.steps.size()) return {0, shown_.compiled_ns};
  double level = shown_.eager_ns;
  for (size_t i = 0; i + 1 < index; ++i) level -= shown_.steps[i].ns;
  return {level, level - shown_.steps[index - 1].ns};
}

QColor SpeedupView::row_fill(size_t index) const {
  const Theme& t = theme();
  if (index == 0 || index > shown_.steps.size()) return t.ctl;
  const SpeedupStep& step = shown_.steps[index - 1];
  if (step.kind == SpeedupStep::Kind::Profiling || step.kind == SpeedupStep::Kind::Rest) return t.nodeLine;
  return step.ns >= 0 ? t.ok : t.err;
}

// Numbers are never cut; a label gives way to bars down to a part of the width, and bars to labels where
// neither would say anything.
SpeedupView::RowPlace SpeedupView::row_place(size_t index) const {
  const Theme& t = theme();
  const QRectF place = row(index);
  const double pad = t.padding(), gap = t.px(kGap), number = number_width_ + 1;
  const double room = std::max(0.0, width() - 2 * pad - number - gap);  // of label and bar
  double label = std::min(label_width_ + 1, std::max(room * kMostLabel, t.px(kLeastLabel) * 1.0));
  const bool bars = room - label - gap >= t.px(kLeastBar);
  if (!bars) label = room;
  RowPlace out;
  out.label = {pad, place.top(), std::min(label, room), place.height()};
  out.number = {width() - pad - number, place.top(), number, place.height()};
  if (!bars) return out;
  const double left = out.label.right() + gap, wide = out.number.left() - gap - left;
  const double low = shown_.lowest(), scale = wide / std::max(1.0, shown_.widest() - low);
  const auto [from, to] = row_levels(index);
  const double x0 = left + (std::min(from, to) - low) * scale, x1 = left + (std::max(from, to) - low) * scale;
  const double inset = std::max(1.0, place.height() * 0.18);
  out.bar = QRectF(std::min(x0, left + wide - 1), place.top() + inset, std::max(1.0, x1 - x0),
                   place.height() - 2 * inset);
  return out;
}

void SpeedupView::paint_row(QPainter& p, size_t index) const {
  const Theme& t = theme();
  const bool total = index == 0 || index > shown_.steps.size();
  const RowPlace place = row_place(index);
  if (!place.bar.isEmpty()) p.fillRect(place.bar, row_fill(index));
  drawText(p, place.label.toRect(), row_text(index), t.ui(12, total ? 600 : 400), total ? t.text1 : t.text2,
           place.bar.isEmpty() ? Qt::AlignLeft : Qt::AlignRight, Elide::Middle);
  drawText(p, place.number.toAlignedRect(), row_number(index), t.mono(12, total ? 500 : 400), t.text1,
           Qt::AlignRight);
}

QString SpeedupView::why_empty() const {
  if (speedup_.eager_ns > 0 && speedup_.compiled_ns > 0)
    return QStringLiteral("No speed-up to explain: this run has no timeline of both sides.");
  if (session()->imported())
    return QStringLiteral("No speed-up to explain: what was imported has no measured calls.");
  const session::Verdict verdict = verdictOf(*session(), run());
  return QStringLiteral("No speed-up to explain: times were not measured, for %1.")
      .arg(QString::fromStdString(verdict.why_not_measured));
}

void SpeedupView::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.fillRect(rect(), theme().bg1);
  if (shown_.empty())
    return paintEmpty(
        p, rect(),
        session() ? why_empty() : QStringLiteral("From eager's time to the compiled one, step by step."));
  drawText(p, unit_place().toAlignedRect(), unit_text(), theme().mono(11), theme().text3, Qt::AlignRight);
  for (size_t i = 0; i < shown_.steps.size() + 2; ++i) {
    const bool step = i > 0 && i <= shown_.steps.size();
    if (const Id launch = step ? shown_.steps[i - 1].launch : 0)
      drawRowGround(p, row(i).toRect(), selection().mark(launch), selection().isHovered(launch));
    paint_row(p, i);
  }
}

Id SpeedupView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Derived, [this](Id wanted) {
    return std::any_of(shown_.steps.begin(), shown_.steps.end(),
                       [&](const SpeedupStep& step) { return step.launch == wanted; });
  });
}

std::vector<Id> SpeedupView::shown() const {
  std::vector<Id> out;
  for (const SpeedupStep& step : shown_.steps)
    if (step.launch) out.push_back(step.launch);
  return out;
}

std::vector<Thing> SpeedupView::things() const {
  std::vector<Thing> out;
  for (size_t i = 0; i < shown_.steps.size(); ++i)
    if (shown_.steps[i].launch) out.push_back({shown_.steps[i].launch, row(i + 1).toRect()});
  return out;
}

QString SpeedupView::copy(CopyAs as) const {
  QStringList lines{kit::separated({"step", "saved ns"}, as == CopyAs::Csv)};
  for (const SpeedupStep& step : speedup_.steps)
    lines << kit::separated({step.text, QString::number(step.ns)}, as == CopyAs::Csv);
  return lines.join('\n');
}

void SpeedupView::mouseMoveEvent(QMouseEvent* event) {
  const int at = step_at(event->position());
  Q_EMIT hover(at < 0 ? 0 : shown_.steps[static_cast<size_t>(at)].launch);
}

void SpeedupView::mouseReleaseEvent(QMouseEvent* event) {
  const int at = step_at(event->position());
  const Id id = at < 0 ? 0 : shown_.steps[static_cast<size_t>(at)].launch;
  if (event->modifiers() & Qt::ControlModifier && id)
    Q_EMIT toggle(id);
  else
    Q_EMIT activate(id);
}

void SpeedupView::leaveEvent(QEvent*) {
  Q_EMIT hover(0);
}

bool SpeedupView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return View::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const int at = step_at(help->pos());
  if (at < 0) {
    QToolTip::hideText();
  } else {
    const SpeedupStep& step = shown_.steps[static_cast<size_t>(at)];
    QToolTip::showText(help->globalPos(), kit::tip(step.text + (step.note.isEmpty() ? "" : "\n" + step.note)),
                       this);
  }
  return true;
}

}  // namespace vitrine::views
