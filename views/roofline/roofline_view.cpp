#include "views/roofline/roofline_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <map>

#include "views/kit/missing.h"
#include "views/kit/numbers.h"
#include "views/kit/paint.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {
constexpr double kLeast = 4, kMost = 11;  // radius of a point
constexpr int kLeft = 62, kRight = 18, kTop = 14, kBottom = 38;

QString decade(int exponent) {
  return exponent >= 0 && exponent <= 4   ? QString::number(std::pow(10, exponent))
         : exponent < 0 && exponent >= -4 ? QString::number(std::pow(10, exponent))
                                          : QStringLiteral("1e%1").arg(exponent);
}
}  // namespace

RooflineView::RooflineView(Jobs* jobs, QWidget* parent) : View(jobs, parent) {
  setMouseTracking(true);
}

QString RooflineView::subtitle() const {
  if (points_.empty()) return {};
  QString out = countText(static_cast<int64_t>(points_.size()), "kernel");
  if (moving_) out += QStringLiteral("; %1 more only move data").arg(moving_);
  return out;
}

void RooflineView::sessionChanged() {
  points_.clear();
  moving_ = 0;
  copy_ = session() ? copyCeiling(*session()) : 0;
  if (session() && copy_ > 0)
    for (const RoofPoint& p : roofPoints(*session(), compilation())) {
      if (p.ns <= 0) continue;
      if (p.flops > 0 && p.bytes > 0)
        points_.push_back(p);
      else
        ++moving_;
    }
  // Large ones first, so that small ones stay in sight.
  std::stable_sort(points_.begin(), points_.end(), [](auto& a, auto& b) { return a.ns > b.ns; });
  scale();
  Q_EMIT headerChanged();
  update();
}

void RooflineView::selectionChanged(ChangeMask mask) {
  if (mask & ChangeFilm) return sessionChanged();
  update();
}

// Whole decades around the points and the corners of the roofs.
void RooflineView::scale() {
  if (points_.empty()) return;
  double x0 = 1e300, x1 = 0, y0 = 1e300, y1 = 0;
  for (const RoofPoint& p : points_) {
    const double corner = p.product > 0 ? p.product / copy_ : p.intensity();
    x0 = std::min(x0, std::min(p.intensity(), corner));
    x1 = std::max(x1, std::max(p.intensity(), corner));
    y0 = std::min(y0, p.rate());
    y1 = std::max({y1, p.rate(), p.product});
  }
  x_ = {std::floor(std::log10(x0)), std::ceil(std::log10(x1) + 0.2)};
  y_ = {std::floor(std::log10(y0)), std::ceil(std::log10(y1) + 0.1)};
}

QRectF RooflineView::plot() const {
  const Theme& t = theme();
  return QRectF(rect()).adjusted(t.px(kLeft), t.px(kTop), -t.px(kRight), -t.px(kBottom));
}

QPointF RooflineView::at(double intensity, double rate) const {
  const QRectF box = plot();
  const double x = (std::log10(intensity) - x_.low) / (x_.high - x_.low);
  const double y = (std::log10(rate) - y_.low) / (y_.high - y_.low);
  return {box.left() + x * box.width(), box.bottom() - y * box.height()};
}

double RooflineView::radius(const RoofPoint& p) const {
  double most = 0;
  for (const RoofPoint& other : points_) most = std::max(most, other.ns);
  return theme().px(1) * (kLeast + (kMost - kLeast) * std::sqrt(p.ns / most));
}

const RoofPoint* RooflineView::pointAt(QPointF where) const {
  const RoofPoint* best = nullptr;
  double nearest = 1e9;
  for (const RoofPoint& p : points_) {
    const QPointF d = at(p.intensity(), p.rate()) - where;
    const double distance = std::hypot(d.x(), d.y());
    if (distance > radius(p) + 3 || distance >= nearest) continue;
    nearest = distance;
    best = &p;
  }
  return best;
}

QPointF RooflineView::place(Id kernel) const {
  for (const RoofPoint& p : points_)
    if (p.kernel == kernel) return at(p.intensity(), p.rate());
  return {};
}

Id RooflineView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Derived, [this](Id wanted) {
    return std::any_of(points_.begin(), points_.end(), [&](auto& p) { return p.kernel == wanted; });
  });
}

std::vector<Id> RooflineView::shown() const {
  std::vector<Id> out;
  for (const RoofPoint& p : points_) out.push_back(p.kernel);
  return out;
}

std::vector<Thing> RooflineView::things() const {
  std::vector<Thing> out;
  for (const RoofPoint& p : points_) {
    const double r = radius(p);
    out.push_back(
        {p.kernel, QRectF(at(p.intensity(), p.rate()) - QPointF(r, r), QSizeF(2 * r, 2 * r)).toRect()});
  }
  return out;
}

QString RooflineView::text(const RoofPoint& p) const {
  QString out =
      QStringLiteral("%1, %2, %3 FLOP a byte")
          .arg(rateText(p.bytes, p.ns), flopsText(p.flops, p.ns), QString::number(p.intensity(), 'g', 3));
  return p.part > 0 ? out + QStringLiteral(", %1 of the roof").arg(percentText(p.part)) : out;
}

QString RooflineView::copy(CopyAs as) const {
  QStringList lines;
  for (const RoofPoint& p : points_)
    lines << QStringList{session()->label(p.kernel), QString::number(p.intensity()),
                         QString::number(p.rate()), QString::number(p.bandwidth()), QString::number(p.part)}
                 .join(as == CopyAs::Csv ? ',' : '\t');
  return lines.join('\n');
}

QString RooflineView::whyEmpty() const {
  if (!session()) return QStringLiteral("Kernels stand here under what the machine can do.");
  if (copy_ <= 0)
    return QStringLiteral("No roofline: what this machine can do was not measured in this run.");
  const QString why = whyMissing(*session(), compilation(), "kernels");
  return QStringLiteral("No roofline: no kernel with operations was measured. %1").arg(why).trimmed();
}

void RooflineView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg1);
  if (points_.empty()) return drawEmpty(painter, rect(), whyEmpty());
  paintGrid(painter);
  paintRoofs(painter);
  paintPoints(painter);
}

void RooflineView::paintGrid(QPainter& painter) const {
  const Theme& t = theme();
  const QRectF box = plot();
  const double peak = std::pow(10, y_.high);
  const auto [unit, name] = peak > 1e13 ? std::pair{1e12, "TFLOP/s"} : std::pair{1e9, "GFLOP/s"};
  for (int e = static_cast<int>(x_.low); e <= static_cast<int>(x_.high); ++e) {
    const double x = at(std::pow(10, e), 1).x();
    hairline(painter, {x, box.top()}, {x, box.bottom()}, t.line);
    const QRect label(static_cast<int>(x) - t.px(30), static_cast<int>(box.bottom()) + t.px(6), t.px(60),
                      t.px(16));
    drawText(painter, label, decade(e), t.mono(11), t.text2, Qt::AlignHCenter);
  }
  for (int e = static_cast<int>(y_.low); e <= static_cast<int>(y_.high); ++e) {
    const double y = at(1, std::pow(10, e)).y();
    hairline(painter, {box.left(), y}, {box.right(), y}, t.line);
    const QRect label(t.px(4), static_cast<int>(y) - t.px(8), t.px(kLeft - 10), t.px(16));
    drawText(painter, label, decade(e - static_cast<int>(std::log10(unit))), t.mono(11), t.text2,
             Qt::AlignRight);
  }
  const QRect below(static_cast<int>(box.left()), height() - t.px(20), static_cast<int>(box.width()),
                    t.px(16));
  drawText(painter, below, QStringLiteral("FLOP per byte"), t.ui(11), t.text3, Qt::AlignRight);
  const QRect corner(static_cast<int>(box.left()) + t.px(6), static_cast<int>(box.top()) + t.px(2), t.px(120),
                     t.px(16));
  drawText(painter, corner, QLatin1String(name), t.ui(11), t.text3);
}

// One slanted line, what copying allows, and a level one for each type of product that a kernel here
// computes.
void RooflineView::paintRoofs(QPainter& painter) const {
  const Theme& t = theme();
  std::map<double, std::string> products;
  for (const RoofPoint& p : points_)
    for (const CeilingRow& row : session()->ceilings)
      if (row.kind == "product" && row.rate == p.product) products[row.rate] = row.type;
  painter.save();
  painter.setClipRect(plot());
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(t.text2, 1.5));
  const double top = products.empty() ? std::pow(10, y_.high) : products.rbegin()->first;
  const double left = std::pow(10, x_.low);
  painter.drawLine(at(left, left * copy_), at(top / copy_, top));
  const QFont font = t.mono(11);
  for (const auto& [rate, type] : products) {
    painter.setPen(QPen(t.text2, 1.5));
    painter.drawLine(at(rate / copy_, rate), at(std::pow(10, x_.high), rate));
    const QPointF end = at(std::pow(10, x_.high), rate);
    const QRect label(static_cast<int>(end.x()) - t.px(206), static_cast<int>(end.y()) + t.px(2), t.px(200),
                      t.px(16));
    drawText(painter, label, QString::fromStdString(type) + " " + flopsText(rate, 1e9), font, t.text2,
             Qt::AlignRight);
  }
  // Along the slanted line, above its lower end.
  const QPointF a = at(left, left * copy_), b = at(top / copy_, top);
  const QPointF from(std::max(a.x(), plot().left()), 0);
  const double slope = (b.y() - a.y()) / std::max(1.0, b.x() - a.x());
  const double middle = (from.x() + b.x()) / 2;
  painter.translate(middle, a.y() + (middle - a.x()) * slope);
  painter.rotate(std::atan(slope) * 180 / M_PI);
  drawText(painter, QRect(-t.px(100), -t.px(20), t.px(200), t.px(16)), "copy " + rateText(copy_, 1e9), font,
           t.text2, Qt::AlignHCenter);
  painter.restore();
}

void RooflineView::paintPoints(QPainter& painter) const {
  const Theme& t = theme();
  painter.setRenderHint(QPainter::Antialiasing);
  std::vector<QRectF> used;
  for (const RoofPoint& p : points_) {
    const double r = radius(p);
    used.push_back(QRectF(at(p.intensity(), p.rate()) - QPointF(r, r), QSizeF(2 * r, 2 * r)));
  }
  for (size_t i = 0; i < points_.size(); ++i) {
    const RoofPoint& p = points_[i];
    const KernelRow* kernel = session()->kernels.find(p.kernel);
    const QRectF disc = used[i];
    painter.setPen(QPen(t.bg1, 1));
    painter.setBrush(t.family(familyOf(kernel->family)));
    painter.drawEllipse(disc);
    drawMark(painter, disc.adjusted(-2, -2, 2, 2), selection().mark(p.kernel),
             selection().isHovered(p.kernel), disc.width() / 2 + 2);
    // Its label at the right, where nothing else stands.
    const QString name = QString::fromStdString(kernel->label);
    const QRectF label(disc.right() + 4, disc.center().y() - t.px(8), textWidth(t.mono(11), name), t.px(16));
    const bool marked = selection().mark(p.kernel) != Mark::None;
    const bool taken =
        label.right() > width() - t.px(4) ||
        std::any_of(used.begin(), used.end(), [&](const QRectF& box) { return box.intersects(label); });
    if (taken && !marked) continue;
    drawText(painter, label.toAlignedRect(), name, t.mono(11), t.text1);
    used.push_back(label);
  }
}

void RooflineView::mouseMoveEvent(QMouseEvent* event) {
  const RoofPoint* p = points_.empty() ? nullptr : pointAt(event->position());
  Q_EMIT hover(p ? p->kernel : 0);
}

void RooflineView::mouseReleaseEvent(QMouseEvent* event) {
  const RoofPoint* p = points_.empty() ? nullptr : pointAt(event->position());
  if (event->button() == Qt::MiddleButton && p)
    Q_EMIT openIn(p->kernel, QString(), true);
  else if (event->modifiers() & Qt::ControlModifier && p)
    Q_EMIT toggle(p->kernel);
  else
    Q_EMIT activate(p ? p->kernel : 0);
}

void RooflineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const RoofPoint* p = points_.empty() ? nullptr : pointAt(event->position()))
    Q_EMIT openIn(p->kernel, QString(), false);
}

void RooflineView::leaveEvent(QEvent*) {
  Q_EMIT hover(0);
}

bool RooflineView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return View::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  if (const RoofPoint* p = points_.empty() ? nullptr : pointAt(help->pos()))
    QToolTip::showText(help->globalPos(),
                       QStringLiteral("<b>%1</b><br>%2, %3")
                           .arg(session()->label(p->kernel).toHtmlEscaped(), timeText(p->ns), text(*p)),
                       this);
  else
    QToolTip::hideText();
  return true;
}

}  // namespace vitrine::views
