#include "views/roofline/roofline_view.h"

#include <QDateTime>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "views/kit/painting/paint.h"
#include "views/kit/session/missing.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/copied.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {
constexpr double kLeast = 4, kMost = 11;  // radius of a point
constexpr double kHollow = 4.5;           // of one of eager's
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
  const Id run = session()->runOf(compilation());
  QString out = shortDoubt(*session(), run, session::TimesOf::ShownCall);
  if (!out.isEmpty()) out += "; ";
  if (!roofline_.too_low.isEmpty()) out += roofline_.too_low + ' ';
  out += countText(static_cast<int64_t>(points_.size()), "kernel");
  if (work_) out += " in " + rangeText(selection().range.from_ns, selection().range.to_ns);
  if (moving_) out += QStringLiteral("; %1 more only move data").arg(moving_);
  if (!eager_.empty())
    out +=
        "; " + countText(static_cast<int64_t>(eager_.size()), "operator of eager's", "operators of eager's");
  const QString basis = QString::fromStdString(runTimes(*session(), run).basis("compiled"));
  return basis.isEmpty() ? out : out + "; times of " + basis;
}

void RooflineView::sessionChanged() {
  points_.clear();
  eager_.clear();
  moving_ = 0;
  roofline_ = session() ? rooflineOf(*session(), compilation()) : Roofline{};
  copy_ = roofline_.roofs.copy().rate;
  if (copy_ > 0)
    for (const RoofPoint& p : roofline_.points) {
      if (p.ns <= 0 || !inRange(p.kernel)) continue;
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
  if (points_.empty()) return;
  jobs()->run<std::vector<EagerPoint>>(
      this, QStringLiteral("eager points"),
      [data = session(), id = compilation()](const Cancel&) { return eager_points(*data, id); },
      [this](std::vector<EagerPoint> eager) { take(std::move(eager)); });
}

void RooflineView::take(std::vector<EagerPoint> eager) {
  eager_ = std::move(eager);
  std::erase_if(eager_, [this](const EagerPoint& p) { return !inRange(p.node); });
  scale();
  Q_EMIT headerChanged();
  update();
}

void RooflineView::selectionChanged(ChangeMask mask) {
  if (mask & ChangeRange) measureRange();
  if (mask & ChangeFilm) return sessionChanged();
  update();
}

bool RooflineView::inRange(Id id) const {
  return !work_ || work_->contains(id);
}

// While a piece of time is selected only what is at work in it stands here.
void RooflineView::measureRange() {
  const TimeRange range = selection().range;
  if (!session() || range.from_ns >= range.to_ns) {
    if (std::exchange(work_, std::nullopt)) sessionChanged();
    return;
  }
  jobs()->run<RangeWork>(
      this, QStringLiteral("roofline range"),
      [data = session(), run = session()->runOf(compilation()), range](const Cancel&) {
        return rangeWork(*data, run, range.from_ns, range.to_ns);
      },
      [this](RangeWork work) {
        if (selection().range.from_ns >= selection().range.to_ns) return;
        work_ = std::move(work);
        sessionChanged();
      });
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
  for (const EagerPoint& p : eager_) {
    x0 = std::min(x0, p.intensity()), x1 = std::max(x1, p.intensity());
    y0 = std::min(y0, p.rate()), y1 = std::max(y1, p.rate());
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

QRectF RooflineView::disc(const RoofPoint& p) const {
  const double r = radius(p);
  return {at(p.intensity(), p.rate()) - QPointF(r, r), QSizeF(2 * r, 2 * r)};
}

QRectF RooflineView::disc(const EagerPoint& p) const {
  const double r = theme().px(1) * kHollow;
  return {at(p.intensity(), p.rate()) - QPointF(r, r), QSizeF(2 * r, 2 * r)};
}

const EagerPoint* RooflineView::eagerAt(QPointF where) const {
  for (const EagerPoint& p : eager_)
    if (disc(p).adjusted(-2, -2, 2, 2).contains(where)) return &p;
  return nullptr;
}

Id RooflineView::idAt(QPointF where) const {
  if (points_.empty()) return 0;
  if (const RoofPoint* p = pointAt(where)) return p->kernel;
  const EagerPoint* p = eagerAt(where);
  return p ? p->node : 0;
}

QPointF RooflineView::place(Id id) const {
  for (const RoofPoint& p : points_)
    if (p.kernel == id) return at(p.intensity(), p.rate());
  for (const EagerPoint& p : eager_)
    if (p.node == id) return at(p.intensity(), p.rate());
  return {};
}

Id RooflineView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Derived, [this](Id wanted) {
    return std::any_of(points_.begin(), points_.end(), [&](auto& p) { return p.kernel == wanted; }) ||
           std::any_of(eager_.begin(), eager_.end(), [&](auto& p) { return p.node == wanted; });
  });
}

std::vector<Id> RooflineView::shown() const {
  std::vector<Id> out;
  for (const RoofPoint& p : points_) out.push_back(p.kernel);
  return out;
}

std::vector<Thing> RooflineView::things() const {
  std::vector<Thing> out;
  for (const RoofPoint& p : points_) out.push_back({p.kernel, disc(p).toRect()});
  for (const EagerPoint& p : eager_) out.push_back({p.node, disc(p).toRect()});
  return out;
}

QString RooflineView::text(const RoofPoint& p) const {
  QString out =
      QStringLiteral("%1, %2, %3 FLOP a byte")
          .arg(rateText(p.bytes, p.ns), flopsText(p.flops, p.ns), QString::number(p.intensity(), 'g', 3));
  const QString cache = QString::fromStdString(session::Roofs::cache_words(p.cache));
  if (p.part > 0) out += QStringLiteral(", %1 of the roof").arg(percentText(p.part));
  return cache.isEmpty() ? out : out + ", " + cache;
}

QString RooflineView::copy(CopyAs as) const {
  QStringList lines;
  for (const RoofPoint& p : points_)
    lines << kit::separated(
        {session()->label(p.kernel), QString::number(p.intensity()), QString::number(p.rate()),
         QString::number(p.bandwidth()), QString::number(p.part)},
        as == CopyAs::Csv);
  return lines.join('\n');
}

QString RooflineView::whyEmpty() const {
  if (!session()) return QStringLiteral("Kernels stand here under what the machine can do.");
  if (session()->imported()) return QStringLiteral("No roofline: what was imported tells no ceilings.");
  if (copy_ <= 0)
    return QStringLiteral("No roofline: what this machine can do was not measured in this run.");
  if (work_) return QStringLiteral("No kernel with operations is at work in the selected time.");
  const QString why = whyMissing(*session(), compilation(), "kernels");
  return QStringLiteral("No roofline: no kernel with operations was measured. %1").arg(why).trimmed();
}

void RooflineView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg1);
  if (points_.empty()) return paintEmpty(painter, rect(), whyEmpty());
  paintGrid(painter);
  const std::vector<Roof> all = roofs();
  paintRoofs(painter, all);
  paintEager(painter);
  paintPoints(painter, all);
  paintKey(painter);
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

// ", 2026-11-24": when it was measured, where that was not in this run.
QString RooflineView::keptFrom(std::string_view kind, const std::string& type) const {
  for (const CeilingRow& row : session()->ceilings)
    if (row.kind == kind && row.type == type && row.source == "kept" && row.measured_unix_ns > 0)
      return ", " + QDateTime::fromMSecsSinceEpoch(row.measured_unix_ns / 1'000'000, Qt::UTC)
                        .toString(QStringLiteral("yyyy-MM-dd"));
  return {};
}

// One slanted line, what copying allows, and a level one for each type of product that a kernel here
// computes; each with its name at the first place along it where no kernel stands.
std::vector<RooflineView::Roof> RooflineView::roofs() const {
  std::map<double, std::string> products;
  for (const auto& [type, rate] : roofline_.products) products[rate] = type;
  const double top = products.empty() ? std::pow(10, y_.high) : products.rbegin()->first;
  const double right = std::pow(10, x_.high);
  const double left = std::max(std::pow(10, x_.low), std::pow(10, y_.low) / copy_);
  std::vector<Roof> out;
  out.push_back({{at(left, left * copy_), at(top / copy_, top)},
                 "copy " + rateText(copy_, 1e9) + keptFrom("copy", "f32"),
                 {},
                 {}});
  for (const auto& [rate, type] : products)
    out.push_back({{at(rate / copy_, rate), at(right, rate)},
                   QString::fromStdString(type) + " " + flopsText(rate, 1e9) + keptFrom("product", type),
                   {},
                   {}});
  std::vector<QPolygonF> taken;
  for (const RoofPoint& p : points_) taken.push_back(QPolygonF(disc(p)));
  for (const EagerPoint& p : eager_) taken.push_back(QPolygonF(disc(p)));
  if (!eager_.empty())  // the key
    taken.push_back(QPolygonF(
        QRectF(plot().topRight() - QPointF(theme().px(150), 0), QSizeF(theme().px(150), theme().px(20)))));
  for (Roof& roof : out) {
    place(roof, taken);
    taken.push_back(roof.area());
  }
  return out;
}

// Above the line or below it, from its middle to its ends, as a whole in the plot; below its middle, when all
// is taken.
void RooflineView::place(Roof& roof, const std::vector<QPolygonF>& taken) const {
  const Theme& t = theme();
  const QFont font = t.mono(11);
  roof.size = {static_cast<double>(textWidth(font, roof.text)), static_cast<double>(t.px(16))};
  const double room = roof.line.length() - roof.size.width();
  auto inside = [&] { return plot().contains(roof.area().boundingRect()); };
  auto fits = [&] {
    return inside() && std::none_of(taken.begin(), taken.end(),
                                    [&](const QPolygonF& other) { return other.intersects(roof.area()); });
  };
  auto try_at = [&](double part, int above) {
    const QPointF start = roof.line.pointAt(room * part / std::max(1.0, roof.line.length()));
    roof.at = QTransform::fromTranslate(start.x(), start.y());
    roof.at.rotate(-roof.line.angle());
    roof.at.translate(0, above);
    return fits();
  };
  if (room > 0)
    for (double part : {0.5, 0.3, 0.7, 0.15, 0.85, 0.0, 1.0})
      for (int above : {-t.px(19), t.px(3)})
        if (try_at(part, above)) return;
  // Nowhere, or the line is shorter than its name: the name then goes on before the line begins.
  std::optional<QTransform> above_it;
  for (int above : {-t.px(19), t.px(3)}) {
    if (try_at(0.5, above)) return;
    const double over = roof.area().boundingRect().right() - plot().right();
    if (over > 0) roof.at *= QTransform::fromTranslate(-over - 1, 0);
    if (fits()) return;
    if (above < 0 && inside()) above_it = roof.at;
  }
  if (above_it) roof.at = *above_it;
}

std::vector<QRectF> RooflineView::roofNames() const {
  std::vector<QRectF> out;
  for (const Roof& roof : roofs()) out.push_back(roof.area().boundingRect());
  return out;
}

void RooflineView::paintRoofs(QPainter& painter, const std::vector<Roof>& roofs) const {
  const Theme& t = theme();
  painter.save();
  painter.setClipRect(plot());
  painter.setRenderHint(QPainter::Antialiasing);
  for (const Roof& roof : roofs) {
    painter.setPen(QPen(t.text2, 1.5));
    painter.drawLine(roof.line);
    painter.setTransform(roof.at, true);
    drawText(painter, QRectF({}, roof.size).toAlignedRect(), roof.text, t.mono(11), t.text2);
    painter.setTransform(roof.at.inverted(), true);
  }
  painter.restore();
}

// Hollow, below the kernels; the line to a kernel is stronger where one of its ends is marked.
void RooflineView::paintEager(QPainter& painter) const {
  const Theme& t = theme();
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  for (const EagerPoint& p : eager_) {
    const QPointF to = p.kernel ? place(p.kernel) : QPointF();
    const bool marked = isMarked(p.node) || isMarked(p.kernel) || selection().isHovered(p.node) ||
                        selection().isHovered(p.kernel);
    if (!to.isNull()) {
      painter.setPen(QPen(marked ? t.accent : t.edge, marked ? 1.5 : 1));
      painter.drawLine(disc(p).center(), to);
    }
  }
  for (const EagerPoint& p : eager_) {
    const NodeRow* node = session()->nodes.find(p.node);
    painter.setBrush(t.bg1);
    painter.setPen(QPen(t.family(familyOf(node ? node->family : "")), 1.6));
    painter.drawEllipse(disc(p));
    drawMark(painter, disc(p).adjusted(-2, -2, 2, 2), selection().mark(p.node), selection().isHovered(p.node),
             disc(p).width() / 2 + 2);
  }
  painter.restore();
}

// "○ eager  ● compiled", at the upper right corner.
void RooflineView::paintKey(QPainter& painter) const {
  if (eager_.empty()) return;
  const Theme& t = theme();
  double right = plot().right() - t.px(6);
  const double y = plot().top() + t.px(10), r = t.px(1) * kHollow;
  for (const bool hollow : {false, true}) {
    const QString text = hollow ? QStringLiteral("eager") : QStringLiteral("compiled");
    const int wide = textWidth(t.ui(11), text) + 2;
    drawText(painter, QRectF(right - wide, y - t.px(8), wide, t.px(16)).toAlignedRect(), text, t.ui(11),
             t.text2);
    painter.setPen(QPen(t.text2, 1.4));
    painter.setBrush(hollow ? t.bg1 : t.text2);
    painter.drawEllipse(QPointF(right - wide - t.px(4) - r, y), r, r);
    right -= wide + t.px(4) + 2 * r + t.px(14);
  }
}

void RooflineView::paintPoints(QPainter& painter, const std::vector<Roof>& roofs) const {
  const Theme& t = theme();
  painter.setRenderHint(QPainter::Antialiasing);
  std::vector<QPolygonF> used;
  for (const RoofPoint& p : points_) used.push_back(QPolygonF(disc(p)));
  for (const EagerPoint& p : eager_) used.push_back(QPolygonF(disc(p)));
  for (const Roof& roof : roofs) used.push_back(roof.area());
  for (const RoofPoint& p : points_) {
    const KernelRow* kernel = session()->kernels.find(p.kernel);
    const QRectF disc = this->disc(p);
    painter.setPen(QPen(t.bg1, 1));
    painter.setBrush(t.family(familyOf(kernel->family)));
    painter.drawEllipse(disc);
    drawMark(painter, disc.adjusted(-2, -2, 2, 2), selection().mark(p.kernel),
             selection().isHovered(p.kernel), disc.width() / 2 + 2);
    // Its label at the right, where nothing else stands.
    const QString name = QString::fromStdString(kernel->label);
    const QRectF label(disc.right() + 4, disc.center().y() - t.px(8), textWidth(t.mono(11), name), t.px(16));
    const bool marked = selection().mark(p.kernel) != Emphasis::None;
    const bool taken = label.right() > width() - t.px(4) ||
                       std::any_of(used.begin(), used.end(),
                                   [&](const QPolygonF& other) { return other.intersects(label); });
    if (taken && !marked) continue;
    if (!taken) painter.fillRect(label.adjusted(0, 2, 0, -2), t.bg1);  // lines of the plot do not cross it
    drawText(painter, label.toAlignedRect(), name, t.mono(11), t.text1);
    used.push_back(QPolygonF(label));
  }
}

void RooflineView::mouseMoveEvent(QMouseEvent* event) {
  Q_EMIT hover(idAt(event->position()));
}

void RooflineView::mouseReleaseEvent(QMouseEvent* event) {
  const Id id = idAt(event->position());
  if (event->button() == Qt::MiddleButton && id)
    Q_EMIT openIn(id, QString(), true);
  else if (event->modifiers() & Qt::ControlModifier && id)
    Q_EMIT toggle(id);
  else
    Q_EMIT activate(id);
}

void RooflineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const Id id = idAt(event->position())) Q_EMIT openIn(id, QString(), false);
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
  else if (const EagerPoint* e = points_.empty() ? nullptr : eagerAt(help->pos()))
    QToolTip::showText(
        help->globalPos(),
        QStringLiteral("<b>eager %1</b><br>%2, %3, %4, %5 FLOP a byte")
            .arg(session()->label(e->node).toHtmlEscaped(), timeText(e->ns), rateText(e->bytes, e->ns),
                 flopsText(e->flops, e->ns), QString::number(e->intensity(), 'g', 3)),
        this);
  else
    QToolTip::hideText();
  return true;
}

}  // namespace vitrine::views
