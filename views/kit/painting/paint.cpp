#include "views/kit/painting/paint.h"

#include <QFontMetrics>
#include <QPaintDevice>
#include <cmath>

#include "views/kit/painting/icons.h"
#include "views/kit/text/shown.h"

namespace vitrine::kit {

namespace {
double deviceRatio(const QPainter& painter) {
  return painter.device() ? painter.device()->devicePixelRatioF() : 1;
}
}  // namespace

void hairline(QPainter& painter, QPointF from, QPointF to, const QColor& colour) {
  const double dpr = deviceRatio(painter);
  const double width = std::max(1.0, std::round(dpr)) / dpr;
  auto snap = [dpr](double v) { return std::floor(v * dpr + 1e-6) / dpr; };
  const QPointF a(snap(std::min(from.x(), to.x())), snap(std::min(from.y(), to.y())));
  const bool level = std::abs(from.y() - to.y()) < std::abs(from.x() - to.x());
  const QSizeF size = level ? QSizeF(std::abs(to.x() - from.x()) + width, width)
                            : QSizeF(width, std::abs(to.y() - from.y()) + width);
  const bool smooth = painter.testRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.fillRect(QRectF(a, size), colour);
  painter.setRenderHint(QPainter::Antialiasing, smooth);
}

void hairlineBox(QPainter& painter, const QRectF& box, const QColor& colour) {
  const double step = std::max(1.0, std::round(deviceRatio(painter))) / deviceRatio(painter);
  const QPointF right(box.right() - step, box.top()), bottom(box.left(), box.bottom() - step);
  const QPointF corner(right.x(), bottom.y());
  hairline(painter, box.topLeft(), right, colour);
  hairline(painter, bottom, corner, colour);
  hairline(painter, box.topLeft(), bottom, colour);
  hairline(painter, right, corner, colour);
}

void dashedBox(QPainter& painter, const QRectF& box, const QColor& colour, double radius) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing, radius > 0);
  QPen pen(colour, 1);
  pen.setDashPattern({3, 2});
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  const QRectF inner = radius > 0 ? box.adjusted(0.5, 0.5, -0.5, -0.5) : box;
  if (radius > 0)
    painter.drawRoundedRect(inner, radius, radius);
  else
    painter.drawRect(inner);
  painter.restore();
}

void drawMark(QPainter& painter, const QRectF& box, Emphasis mark, bool hovered, double radius) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  if (mark != Emphasis::None) {
    const bool ring = mark == Emphasis::Ring;
    painter.setPen(QPen(ring ? theme().ring : theme().accent, ring ? 2 : 1.5));
    painter.drawRoundedRect(box, radius, radius);
  }
  painter.restore();
  if (hovered) {
    const double out = mark == Emphasis::Ring ? 2.5 : mark == Emphasis::Outline ? 2 : 0.5;
    dashedBox(painter, box.adjusted(-out, -out, out, out), theme().text2, std::max(radius + out, 1.0));
  }
}

void drawRowGround(QPainter& painter, const QRect& row, Emphasis mark, bool hovered) {
  if (mark != Emphasis::None)
    painter.fillRect(row, theme().sel);
  else if (hovered)
    painter.fillRect(row, theme().hov);
  if (mark == Emphasis::Ring)
    painter.fillRect(QRect(row.x(), row.y(), theme().px(3), row.height()), theme().ring);
}

int pillWidth(const QString& text, bool withIcon) {
  return textWidth(theme().mono(11), text) + theme().px(withIcon ? 24 : 12);
}

int drawPill(QPainter& painter, QPoint at, int height, const QString& text, Tone tone, const QString& icon) {
  const int width = pillWidth(text, !icon.isEmpty());
  const QRect box(at, QSize(width, height));
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme().softTone(tone));
  painter.drawRoundedRect(box, theme().px(3), theme().px(3));
  painter.restore();
  QRect rest = box.adjusted(theme().px(6), 0, -theme().px(2), 0);
  if (!icon.isEmpty()) {
    drawIcon(painter, icon,
             QRect(box.x() + theme().px(4), box.y() + (height - theme().px(12)) / 2, theme().px(12),
                   theme().px(12)),
             theme().tone(tone));
    rest.setLeft(box.x() + theme().px(20));
  }
  drawText(painter, rest, text, theme().mono(11), theme().text1);
  return width;
}

int textWidth(const QFont& font, const QString& text) {
  return QFontMetrics(font).horizontalAdvance(shownLine(text));
}

int drawText(QPainter& painter, const QRect& box, const QString& given, const QFont& font,
             const QColor& colour, Qt::Alignment alignment, Elide elide) {
  if (box.width() <= 0 || given.isEmpty()) return 0;
  const QFontMetrics metrics(font);
  QString text = shownLine(given);
  int width = metrics.horizontalAdvance(text);
  if (width > box.width()) {
    text = metrics.elidedText(text, elide == Elide::Middle ? Qt::ElideMiddle : Qt::ElideRight, box.width());
    width = metrics.horizontalAdvance(text);
  }
  int x = box.x();
  if (alignment & Qt::AlignRight) x = box.right() + 1 - width;
  if (alignment & Qt::AlignHCenter) x = box.x() + (box.width() - width) / 2;
  // The baseline is set from the capitals' height, so that both families sit on one line.
  const int baseline = box.y() + (box.height() + metrics.capHeight()) / 2;
  painter.setFont(font);
  painter.setPen(colour);
  painter.drawText(x, baseline, text);
  return width;
}

QRect drawEmpty(QPainter& painter, const QRect& box, const QString& text) {
  const QRect inner = box.adjusted(theme().padding(), theme().px(10), -theme().padding(), 0);
  painter.setFont(theme().ui(13));
  painter.setPen(theme().text2);
  QRect taken;
  painter.drawText(inner.intersected(QRect(inner.topLeft(), QSize(theme().px(560), inner.height()))),
                   Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, wrappable(text), &taken);
  return taken;
}

QRect centred(const QRect& box, int size) {
  return {box.x() + (box.width() - size) / 2, box.y() + (box.height() - size) / 2, size, size};
}

}  // namespace vitrine::kit
