// The roofline: operations a second over operations a byte, on two logarithmic axes, under the ceilings that
// were measured of the machine. One point a kernel, as large as its share of the time; eager's operators
// stand there hollow, each with a line to the kernel that does its work.
#pragma once

#include <optional>

#include "views/kit/session/eager_points.h"
#include "views/kit/session/range_work.h"
#include "views/kit/session/roofline.h"
#include "views/kit/view.h"

namespace vitrine::views {

class RooflineView : public kit::View {
  Q_OBJECT
 public:
  explicit RooflineView(kit::Jobs* jobs, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Roofline"); }
  QString subtitle() const override;
  Id canShow(Id id) const override;
  std::vector<Id> shown() const override;
  std::vector<kit::Thing> things() const override;
  QString copy(kit::CopyAs as) const override;
  QPointF place(Id id) const;  // of a kernel's or operator's point; null when it has none
  const std::vector<kit::EagerPoint>& eager() const { return eager_; }
  QRectF plot() const;                    // between the axes
  std::vector<QRectF> roofNames() const;  // the boxes around the names of the roofs

  QString whyEmpty() const;  // what stands there without points

 protected:
  void sessionChanged() override;
  void forgetPlaces() override { work_.reset(); }
  void selectionChanged(kit::ChangeMask mask) override;
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Axis {
    double low = 0, high = 1;  // decades
  };
  void scale();
  QPointF at(double intensity, double rate) const;
  double radius(const kit::RoofPoint& p) const;
  QRectF disc(const kit::RoofPoint& p) const;
  QRectF disc(const kit::EagerPoint& p) const;
  const kit::RoofPoint* pointAt(QPointF where) const;
  const kit::EagerPoint* eagerAt(QPointF where) const;
  Id idAt(QPointF where) const;
  void take(std::vector<kit::EagerPoint> eager);
  void paintEager(QPainter& painter) const;
  void paintKey(QPainter& painter) const;
  QString text(const kit::RoofPoint& p) const;
  void paintGrid(QPainter& painter) const;
  struct Roof {
    QLineF line;
    QString text;
    QTransform at;  // of the text's box, which starts at (0, 0)
    QSizeF size;
    QPolygonF area() const { return at.map(QPolygonF(QRectF({}, size))); }
  };
  QString keptFrom(std::string_view kind, const std::string& type) const;
  std::vector<Roof> roofs() const;
  void place(Roof& roof, const std::vector<QPolygonF>& taken) const;
  void paintRoofs(QPainter& painter, const std::vector<Roof>& roofs) const;
  void paintPoints(QPainter& painter, const std::vector<Roof>& roofs) const;

  bool inRange(Id id) const;
  void measureRange();

  std::vector<kit::RoofPoint> points_;  // with a time and operations
  std::vector<kit::EagerPoint> eager_;
  kit::Roofline roofline_;
  size_t moving_ = 0;  // kernels that only move data
  double copy_ = 0;
  Axis x_, y_;
  std::optional<kit::RangeWork> work_;  // of the time that is selected
};

}  // namespace vitrine::views
