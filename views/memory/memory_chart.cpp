#include "views/memory/memory_chart.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "views/kit/painting/paint.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr int kLeft = 64, kTop = 22, kBottom = 22, kGridX = 90, kGridY = 34;
}  // namespace

MemoryChart::MemoryChart(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::ClickFocus);
  setAccessibleName(QStringLiteral("Memory over the time of a call"));
}

QSize MemoryChart::minimumSizeHint() const {
  return {theme().px(260), theme().px(110)};
}

void MemoryChart::set(MemoryUsePtr use) {
  use_ = std::move(use);
  at_ = -1;
  update();
}

void MemoryChart::setAt(int64_t ns) {
  at_ = ns;
  update();
}

QRectF MemoryChart::plot() const {
  const Theme& t = theme();
  const double left = t.px(kLeft), top = t.px(kTop);
  return {left, top, std::max(1.0, width() - left - t.padding() * 1.6),
          std::max(1.0, height() - top - t.px(kBottom))};
}

double MemoryChart::x_of(int64_t ns) const {
  const QRectF box = plot();
  return box.left() +
         box.width() * static_cast<double>(ns) / std::max(1.0, use_ ? use_->end_ns() * 1.0 : 1.0);
}

double MemoryChart::y_of(double bytes) const {
  const QRectF box = plot();
  return box.bottom() - box.height() * bytes / std::max(1.0, use_ ? use_->most() : 1.0);
}

int64_t MemoryChart::ns_at(double x) const {
  const QRectF box = plot();
  const double part = std::clamp((x - box.left()) / box.width(), 0.0, 1.0);
  return use_ ? static_cast<int64_t>(part * static_cast<double>(use_->end_ns())) : 0;
}

QPainterPath MemoryChart::line_of(const MemorySide& side) const {
  QPainterPath out(QPointF(x_of(0), y_of(0)));
  double last = x_of(0), y = y_of(0), drawn_top = y, drawn_low = y;
  // Of many steps in one column of pixels the most and the least stay.
  for (const auto& [at, held] : side.steps) {
    const double x = x_of(at), next = y_of(held);
    if (x - last >= 0.5) {
      out.lineTo(last, drawn_top), out.lineTo(last, drawn_low), out.lineTo(last, y), out.lineTo(x, y);
      last = x, drawn_top = drawn_low = y;
    }
    y = next;
    drawn_top = std::min(drawn_top, y), drawn_low = std::max(drawn_low, y);
  }
  out.lineTo(last, drawn_top), out.lineTo(last, y), out.lineTo(x_of(side.call_ns), y);
  return out;
}

void MemoryChart::paint_axes(QPainter& p) const {
  const Theme& t = theme();
  const QRectF box = plot();
  const MeasureUnit bytes = bytesUnit(use_->most()), time = timeUnit(static_cast<double>(use_->end_ns()));
  const double up = roundStep(use_->most() / std::max(1.0, box.height() / t.px(kGridY)));
  for (double at = 0; at <= use_->most() * 1.0001; at += up) {
    hairline(p, {box.left(), y_of(at)}, {box.right(), y_of(at)}, t.line);
    MeasureUnit fine = bytes;
    fine.decimals = up / bytes.size >= 1 ? 0 : 1;
    drawText(p, QRectF(0, y_of(at) - t.px(8), box.left() - t.px(6), t.px(16)).toRect(),
             at > 0 ? fine.text(at) : QStringLiteral("0"), t.mono(11), t.text3, Qt::AlignRight);
  }
  const auto whole = static_cast<double>(use_->end_ns());
  const double right = roundStep(whole / std::max(1.0, box.width() / t.px(kGridX)));
  for (double at = 0; at <= whole; at += right) {
    const double x = x_of(static_cast<int64_t>(at));
    hairline(p, {x, box.bottom()}, {x, box.bottom() + t.px(4)}, t.ctl);
    MeasureUnit fine = time;
    fine.decimals = right / time.size >= 1 ? 0 : 1;
    const QString text = at > 0 ? fine.format(at) : QStringLiteral("0 ") + time.name;
    const int wide = textWidth(t.mono(11), text);
    const double left = std::clamp(x - wide / 2.0, box.left() - t.px(8), width() - wide - 2.0);
    drawText(p, QRectF(left, box.bottom() + t.px(5), wide + 2, t.px(15)).toRect(), text, t.mono(11), t.text3);
  }
}

void MemoryChart::paint_side(QPainter& p, const MemorySide& side, bool compiled) const {
  if (!side.recorded) return;
  const Theme& t = theme();
  QPainterPath line = line_of(side);
  if (compiled) {
    QPainterPath fill = line;
    fill.lineTo(x_of(side.call_ns), y_of(0));
    fill.closeSubpath();
    QColor tint = t.accent;
    tint.setAlphaF(0.22F);
    p.fillPath(fill, tint);
  }
  p.setPen(compiled ? QPen(t.accent, 1.5) : QPen(t.text2, 1.2, Qt::DashLine));
  p.setBrush(Qt::NoBrush);
  p.drawPath(line);
}

// Over the peak where there is room. Of two, one stands left of the middle and one right, so that they never
// cross; where both are longer than the chart is wide, they leave out what they are.
MemoryChart::PeakLabel MemoryChart::peak_label(bool compiled) const {
  auto has = [&](bool of) {
    const MemorySide& side = of ? use_->compiled : use_->eager;
    return side.recorded && side.peak > 0;
  };
  if (!use_ || !has(compiled)) return {};
  const Theme& t = theme();
  const double gap = t.px(8), room = width() - 2 * gap;
  auto text_of = [&](bool of, bool whole) {
    return (of ? QStringLiteral("compiled ") : QStringLiteral("eager ")) +
           (whole ? QStringLiteral("peak ") : QString()) +
           bytesText((of ? use_->compiled : use_->eager).peak);
  };
  auto wide = [&](bool of, bool whole) -> double {
    return has(of) ? textWidth(peak_font(of), text_of(of, whole)) + 2 : 0;
  };
  const bool whole = wide(true, true) + wide(false, true) + gap <= room;
  const double own = wide(compiled, whole), other = wide(!compiled, whole);
  double from = gap, to = width() - gap;
  if (other > 0) {
    const bool left = compiled == (use_->compiled.peak_ns <= use_->eager.peak_ns);
    const double middle =
        std::clamp(plot().center().x(), from + (left ? own : other) + gap / 2,
                   std::max(from + (left ? own : other) + gap / 2, to - (left ? other : own) - gap / 2));
    (left ? to : from) = middle + (left ? -gap / 2 : gap / 2);
  }
  const double over = x_of((compiled ? use_->compiled : use_->eager).peak_ns) - own / 2;
  return {text_of(compiled, whole),
          QRectF(std::clamp(over, from, std::max(from, to - own)), t.px(2), own, t.px(16))};
}

QFont MemoryChart::peak_font(bool compiled) {
  return theme().mono(11, compiled ? 500 : 400);
}

void MemoryChart::paint_peak(QPainter& p, const MemorySide& side, bool compiled) const {
  const PeakLabel label = peak_label(compiled);
  if (label.text.isEmpty()) return;
  const Theme& t = theme();
  p.setPen(Qt::NoPen);
  p.setBrush(compiled ? t.accent : t.text2);
  p.drawEllipse(QPointF(x_of(side.peak_ns), y_of(side.peak)), t.px(3), t.px(3));
  drawText(p, label.place.toRect(), label.text, peak_font(compiled), compiled ? t.accent : t.text1);
}

void MemoryChart::paint_moment(QPainter& p) const {
  if (at_ < 0) return;
  const Theme& t = theme();
  const double x = x_of(at_);
  hairline(p, {x, plot().top()}, {x, plot().bottom()}, t.ring);
}

void MemoryChart::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.fillRect(rect(), theme().bg1);
  if (!use_ || use_->empty()) return;
  p.setRenderHint(QPainter::Antialiasing, false);
  paint_axes(p);
  p.setRenderHint(QPainter::Antialiasing, true);
  paint_side(p, use_->compiled, true);
  paint_side(p, use_->eager, false);
  paint_peak(p, use_->eager, false);
  paint_peak(p, use_->compiled, true);
  paint_moment(p);
}

void MemoryChart::mousePressEvent(QMouseEvent* event) {
  Q_EMIT picked(plot().adjusted(0, -4, 0, 4).contains(event->position()) ? ns_at(event->position().x()) : -1);
}

void MemoryChart::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) Q_EMIT picked(ns_at(event->position().x()));
}

// Left and right go from step to step of the compiled side; Escape back to the peaks.
void MemoryChart::keyPressEvent(QKeyEvent* event) {
  const bool left = event->key() == Qt::Key_Left, right = event->key() == Qt::Key_Right;
  if (event->key() == Qt::Key_Escape && at_ >= 0) return Q_EMIT picked(-1);
  if (!use_ || !(left || right)) return QWidget::keyPressEvent(event);
  const MemorySide& side = use_->compiled.steps.empty() ? use_->eager : use_->compiled;
  const int64_t from = at_ < 0 ? side.peak_ns : at_;
  int64_t to = from;
  for (const auto& [at, held] : side.steps) {
    if (left && at < from) to = at;
    if (right && at > from) {
      to = at;
      break;
    }
  }
  Q_EMIT picked(to);
}

}  // namespace vitrine::views
