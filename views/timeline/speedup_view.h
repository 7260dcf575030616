// Where the speed-up comes from, as a waterfall from eager down to compiled.
#pragma once

#include "views/kit/text/numbers.h"
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
  const Speedup& shown_steps() const { return shown_; }  // as many as there is room for

  // Where a row's parts stand; bar is empty where the pane is too narrow for one.
  struct RowPlace {
    QRectF label, bar, number;
  };
  RowPlace row_place(size_t index) const;  // 0 = eager, then the steps shown, then compiled
  QString row_text(size_t index) const;
  QRectF unit_place() const;  // above the numbers
  QString unit_text() const;
  QString why_empty() const;  // what stands there without steps

 protected:
  void sessionChanged() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  kit::MeasureUnit unit() const;
  Id run() const;
  double row_height() const;
  double rows_top() const;
  QRectF row(size_t index) const;    // 0 = eager, then the steps, then compiled
  int step_at(QPointF point) const;  // -1 = none
  void fit();
  QString row_number(size_t index) const;
  std::pair<double, double> row_levels(size_t index) const;
  QColor row_fill(size_t index) const;
  void paint_row(QPainter& p, size_t index) const;

  Speedup speedup_, shown_;
  double label_width_ = 0, number_width_ = 0;  // of the widest
};

}  // namespace vitrine::views
