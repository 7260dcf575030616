// The row of stages: one cell each in five groups, with what it counted and which pane shows it.
#pragma once

#include <QWidget>
#include <vector>

#include "views/kit/selection/selection.h"

namespace vitrine::app {

class StageStrip : public QWidget {
  Q_OBJECT
 public:
  explicit StageStrip(QWidget* parent = nullptr);

  void setSession(const kit::SessionPtr& session, Id compilation);
  void setShown(const std::string& a, const std::string& b);  // stages of the two panes
  void setProgress(const std::string& stage, double part);    // part < 0: none
  // What the cell says, "–" when the stage is not in this run. For tests and tooltips.
  QString count(const std::string& stage) const;
  QStringList words() const;                                 // what stands in the strip now, for tests
  std::string next(const std::string& stage, int by) const;  // the next stage that is in this run
  QSize sizeHint() const override;

 Q_SIGNALS:
  void chosen(const std::string& stage, bool other);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Cell {
    std::string stage;
    QString title, count, note;
    bool there = false, closed = false, stands = true;  // closed: its group stands as one name
    int breaks = 0;
    QRect box;
    int group = 0;
  };
  void closeGroups();
  void place();
  int cellWidth(const Cell& cell, bool counts) const;
  void paintCell(QPainter& painter, const Cell& cell) const;
  const Cell* at(QPoint point) const;

  std::vector<Cell> cells_;
  std::string a_, b_, progress_stage_;
  double progress_ = -1;
  const Cell* hovered_ = nullptr;
  bool has_session_ = false;
  bool counts_ = false;  // there is room for them
};

}  // namespace vitrine::app
