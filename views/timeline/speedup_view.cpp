#include "views/timeline/speedup_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "views/kit/copied.h"
#include "views/kit/numbers.h"
#include "views/kit/paint.h"
#include "views/kit/run_times.h"
#include "views/kit/shown.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr double kTop = 8, kLeastRow = 14, kMostRow = 26;
constexpr int kLabel = 210, kNumber = 84;

// "<0.1" of what is too little to be written has no sign.
QString signedNumber(const Unit& unit, double ns) {
  const QString text = unit.format(std::abs(ns));
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
  parts << QStringLiteral("where the time went, ") + unit().name;
  return parts.join(QStringLiteral("; "));
}

// The header's and the rows' one unit; steps are smaller than both sides, and tell something by a decimal.
Unit SpeedupView::unit() const {
  Unit out = timeUnit(std::max(speedup_.eager_ns, speedup_.compiled_ns));
  out.decimals = std::max(out.decimals, out.size > 1 ? 1 : 0);
  return out;
}

void SpeedupView::sessionChanged() {
  speedup_ = {};
  update();
  if (!session() || !session()->texts) return;
  jobs()->run<Speedup>(
      this, QStringLiteral("speed-up"),
      [data = session(), id = run()](const Cancel&) { return speedup_of(*data, *load_timeline(*data, id)); },
      [this](Speedup loaded) {
        speedup_ = std::move(loaded);
        Q_EMIT headerChanged();
        update();
      });
}

void SpeedupView::selectionChanged(ChangeMask mask) {
  if (mask & ChangeFilm) return sessionChanged();
  update();
}

double SpeedupView::row_height() const {
  const double rows = static_cast<double>(speedup_.steps.size()) + 2;
  return std::clamp((height() - 2 * theme().px(kTop)) / rows, theme().px(kLeastRow) * 1.0,
                    theme().px(kMostRow) * 1.0);
}

QRectF SpeedupView::row(size_t index) const {
  const double h = row_height();
  return {0, theme().px(kTop) + h * static_cast<double>(index), width() * 1.0, h};
}

int SpeedupView::step_at(QPointF point) const {
  for (size_t i = 0; i < speedup_.steps.size(); ++i)
    if (row(i + 1).contains(point)) return static_cast<int>(i);
  return -1;
}

void SpeedupView::paint_row(QPainter& p, size_t index, const QString& text, double from, double to,
                            const QColor& fill, const QString& number, bool total) const {
  const Theme& t = theme();
  const QRectF place = row(index);
  const double left = t.px(kLabel + 14), room = std::max(20.0, width() - left - t.px(kNumber));
  const double scale = room / std::max(1.0, speedup_.widest());
  const double pad = std::max(1.0, place.height() * 0.18);
  const double x0 = left + std::min(from, to) * scale, x1 = left + std::max(from, to) * scale;
  p.fillRect(QRectF(x0, place.top() + pad, std::max(1.0, x1 - x0), place.height() - 2 * pad), fill);
  drawText(p, QRectF(t.padding(), place.top(), t.px(kLabel) - t.padding(), place.height()).toRect(), text,
           t.ui(12, total ? 600 : 400), total ? t.text1 : t.text2, Qt::AlignRight, Elide::Middle);
  drawText(p,
           QRectF(width() - t.px(kNumber), place.top(), t.px(kNumber) - t.padding(), place.height()).toRect(),
           number, t.mono(12, total ? 500 : 400), t.text1, Qt::AlignRight);
}

void SpeedupView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter p(this);
  p.fillRect(rect(), t.bg1);
  if (speedup_.empty())
    return paintEmpty(
        p, rect(),
        session()
            ? QStringLiteral("No speed-up to explain: eager and compiled were not both measured in this run.")
            : QStringLiteral("From eager's time to the compiled one, step by step."));
  const Unit unit = this->unit();
  paint_row(p, 0, QStringLiteral("Eager"), 0, speedup_.eager_ns, t.ctl, unit.format(speedup_.eager_ns), true);
  double level = speedup_.eager_ns;
  for (size_t i = 0; i < speedup_.steps.size(); ++i) {
    const SpeedupStep& step = speedup_.steps[i];
    if (step.launch)
      drawRowGround(p, row(i + 1).toRect(), selection().mark(step.launch),
                    selection().isHovered(step.launch));
    const bool rest = i + 1 == speedup_.steps.size();
    const QColor fill = rest ? t.nodeLine : step.ns >= 0 ? t.ok : t.err;
    paint_row(p, i + 1, step.text, level, level - step.ns, fill, signedNumber(unit, -step.ns), false);
    level -= step.ns;
  }
  paint_row(p, speedup_.steps.size() + 1, QStringLiteral("Compiled"), 0, speedup_.compiled_ns, t.ctl,
            unit.format(speedup_.compiled_ns), true);
}

Id SpeedupView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Derived, [this](Id wanted) {
    return std::any_of(speedup_.steps.begin(), speedup_.steps.end(),
                       [&](const SpeedupStep& step) { return step.launch == wanted; });
  });
}

std::vector<Id> SpeedupView::shown() const {
  std::vector<Id> out;
  for (const SpeedupStep& step : speedup_.steps)
    if (step.launch) out.push_back(step.launch);
  return out;
}

std::vector<Thing> SpeedupView::things() const {
  std::vector<Thing> out;
  for (size_t i = 0; i < speedup_.steps.size(); ++i)
    if (speedup_.steps[i].launch) out.push_back({speedup_.steps[i].launch, row(i + 1).toRect()});
  return out;
}

QString SpeedupView::copy(CopyAs as) const {
  QStringList lines;
  for (const SpeedupStep& step : speedup_.steps)
    lines << kit::separated({step.text, QString::number(step.ns)}, as == CopyAs::Csv);
  return lines.join('\n');
}

void SpeedupView::mouseMoveEvent(QMouseEvent* event) {
  const int at = step_at(event->position());
  Q_EMIT hover(at < 0 ? 0 : speedup_.steps[static_cast<size_t>(at)].launch);
}

void SpeedupView::mouseReleaseEvent(QMouseEvent* event) {
  const int at = step_at(event->position());
  const Id id = at < 0 ? 0 : speedup_.steps[static_cast<size_t>(at)].launch;
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
    const SpeedupStep& step = speedup_.steps[static_cast<size_t>(at)];
    QToolTip::showText(help->globalPos(), kit::tip(step.text + (step.note.isEmpty() ? "" : "\n" + step.note)),
                       this);
  }
  return true;
}

}  // namespace vitrine::views
