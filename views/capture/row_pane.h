// A scrolled column of rows that a view paints itself: virtual rows of given heights, the three highlights,
// mouse and keys. Rows without an id are captions and prose.
#pragma once

#include <QAbstractScrollArea>
#include <QPainter>
#include <functional>
#include <vector>

#include "views/kit/selection/selection.h"

namespace vitrine::views {

class RowPane : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit RowPane(QWidget* parent = nullptr);

  struct Row {
    std::vector<Id> ids;  // what the row stands for, the first becomes active; empty: not clickable
    int height = 18;
    QString words;    // what accessibility, copying and finding go by
    QString tooltip;  // "" = none
  };
  using Paint = std::function<void(QPainter&, int row, const QRect& box)>;

  void setRows(std::vector<Row> rows, Paint paint);  // keeps where it was scrolled
  void setMarks(const kit::Selection* selection) { marks_ = selection; }
  const std::vector<Row>& rows() const { return rows_; }
  kit::Emphasis markOf(int row) const;
  QRect boxOf(int row) const;  // in the viewport
  int rowAt(int y) const;      // -1 = none
  int rowOf(Id id) const;      // -1 = none
  void revealRow(int row);
  int find(const QString& text);
  void findNext(bool forward);
  std::vector<kit::Thing> things() const;   // rows in sight, in the parent's coordinates
  int painted() const { return painted_; }  // rows of the last paint

 Q_SIGNALS:
  void clicked(int row, int x);
  void toggled(int row);
  void hovered(vitrine::Id id);
  void opened(int row, bool other);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void fitScroll();
  Id idOf(int row) const {
    return row >= 0 && !rows_[size_t(row)].ids.empty() ? rows_[size_t(row)].ids[0] : 0;
  }
  void moveCursor(int by);

  std::vector<Row> rows_;
  std::vector<int> tops_;  // one more than rows
  Paint paint_;
  const kit::Selection* marks_ = nullptr;
  std::vector<int> matches_;
  size_t match_ = 0;
  int cursor_ = -1, painted_ = 0;
};

}  // namespace vitrine::views
