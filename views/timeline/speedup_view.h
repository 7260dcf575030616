// Where the speed-up comes from, as a waterfall from eager down to compiled.
#pragma once

#include "views/kit/numbers.h"
#include "views/kit/view.h"
#include "views/timeline/speedup.h"

namespace vitrine::views {

class SpeedupView : public kit::View {
  Q_OBJECT
 public:
  explicit SpeedupView(kit::Jobs* jobs, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Speed-up"); }
  QString subtitle() const override;
  Id canShow(Id id) const override;
  std::vector<Id> shown() const override;
  std::vector<kit::Thing> things() const override;
  QString copy(kit::CopyAs as) const override;
  const Speedup& speedup() const { return speedup_; }

 protected:
  void sessionChanged() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  kit::Unit unit() const;
  Id run() const;
  double row_height() const;
  QRectF row(size_t index) const;    // 0 = eager, then the steps, then compiled
  int step_at(QPointF point) const;  // -1 = none
  void paint_row(QPainter& p, size_t index, const QString& text, double from, double to, const QColor& fill,
                 const QString& number, bool total) const;

  Speedup speedup_;
};

}  // namespace vitrine::views
