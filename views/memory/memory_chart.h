// Bytes held over the time of a call: compiled filled, eager dashed, on one axis, with both peaks named.
#pragma once

#include <QPainterPath>
#include <QWidget>

#include "views/memory/memory_use.h"

namespace vitrine::views {

class MemoryChart : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryChart(QWidget* parent = nullptr);
  void set(MemoryUsePtr use);
  const MemoryUsePtr& use() const { return use_; }
  void setAt(int64_t ns);  // the moment that is looked at; -1: both peaks
  int64_t at() const { return at_; }
  QRectF plot() const;
  double x_of(int64_t ns) const;
  double y_of(double bytes) const;
  QSize minimumSizeHint() const override;
  // The name of a side's peak, in the strip above the plot; "" where it has none.
  struct PeakLabel {
    QString text;
    QRectF place;
  };
  PeakLabel peak_label(bool compiled) const;

 Q_SIGNALS:
  void picked(qint64 ns);  // -1: the peaks again

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QPainterPath line_of(const MemorySide& side) const;
  void paint_axes(QPainter& p) const;
  void paint_side(QPainter& p, const MemorySide& side, bool compiled) const;
  static QFont peak_font(bool compiled);
  void paint_peak(QPainter& p, const MemorySide& side, bool compiled) const;
  void paint_moment(QPainter& p) const;
  int64_t ns_at(double x) const;
  MemoryUsePtr use_;
  int64_t at_ = -1;
};

}  // namespace vitrine::views
