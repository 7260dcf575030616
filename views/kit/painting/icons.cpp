#include "views/kit/painting/icons.h"

#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QSvgRenderer>
#include <cmath>

namespace vitrine::kit {

namespace {

// Draws by name, so that a theme change or another screen needs no new QIcon.
class ThemeIconEngine : public QIconEngine {
 public:
  ThemeIconEngine(QString name, QColor colour) : name_(std::move(name)), colour_(std::move(colour)) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
    if (mode == QIcon::Disabled) painter->setOpacity(painter->opacity() * 0.5);
    drawIcon(*painter, name_, rect, colour(mode, state));
    if (mode == QIcon::Disabled) painter->setOpacity(painter->opacity() * 2);
  }
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    return scaledPixmap(size, mode, state, 1);
  }
  QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state, qreal scale) override {
    QPixmap out(size);
    out.fill(Qt::transparent);
    QPainter painter(&out);
    paint(&painter, QRect(QPoint(0, 0), size), mode, state);
    painter.end();
    out.setDevicePixelRatio(scale);
    return out;
  }
  QIconEngine* clone() const override { return new ThemeIconEngine(name_, colour_); }

 private:
  QColor colour(QIcon::Mode mode, QIcon::State state) const {
    if (colour_.isValid()) return colour_;
    const bool strong = mode == QIcon::Active || mode == QIcon::Selected || state == QIcon::On;
    return strong ? theme().text1 : theme().text2;
  }
  QString name_;
  QColor colour_;
};

QByteArray svg(const QString& name, const QColor& colour) {
  QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
  if (!file.open(QIODevice::ReadOnly)) return {};
  return file.readAll().replace("currentColor", colour.name().toLatin1());
}

}  // namespace

QPixmap iconPixmap(const QString& name, const QColor& colour, int size, double dpr) {
  const QColor ink = colour.isValid() ? colour : theme().text2;
  const int pixels = static_cast<int>(std::lround(size * dpr));
  const QString key = QStringLiteral("vitrine/%1/%2/%3").arg(name, ink.name()).arg(pixels);
  QPixmap out;
  if (!QPixmapCache::find(key, &out)) {
    out = QPixmap(pixels, pixels);
    out.fill(Qt::transparent);
    QPainter painter(&out);
    QSvgRenderer(svg(name, ink)).render(&painter);
    painter.end();
    QPixmapCache::insert(key, out);
  }
  out.setDevicePixelRatio(dpr);
  return out;
}

void drawIcon(QPainter& painter, const QString& name, const QRect& box, const QColor& colour) {
  if (name.isEmpty() || box.isEmpty()) return;
  const int size = std::min(box.width(), box.height());
  const QPointF at(box.x() + (box.width() - size) / 2.0, box.y() + (box.height() - size) / 2.0);
  painter.drawPixmap(at, iconPixmap(name, colour, size, painter.device()->devicePixelRatioF()));
}

void drawFamily(QPainter& painter, NodeFamily family, const QRect& box) {
  if (family != NodeFamily::None) drawIcon(painter, familyIcon(family), box, theme().family(family));
}

QIcon icon(const QString& name, const QColor& colour) {
  return QIcon(new ThemeIconEngine(name, colour));
}

}  // namespace vitrine::kit
