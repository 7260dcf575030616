// The bottom row: the chain of the active thing, one link a stage; the ringed one is active. Right: what is
// hovered.
#pragma once

#include <QWidget>
#include <vector>

#include "views/kit/selection/chain.h"

namespace vitrine::app {

class ChainBar : public QWidget {
  Q_OBJECT
 public:
  explicit ChainBar(QWidget* parent = nullptr);
  void set(const kit::SessionPtr& session, const kit::Selection& selection);
  const std::vector<kit::ChainLink>& links() const { return links_; }
  const std::vector<QRect>& boxes() const { return boxes_; }  // by link

 Q_SIGNALS:
  void activate(vitrine::Id id);
  void hover(vitrine::Id id);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void place();
  static int widestOf(std::vector<int> widths, int room);
  bool iconOf(const kit::ChainLink& link) const;  // instead of its stage's name
  int linkAt(QPoint point) const;
  std::vector<kit::ChainLink> links_;
  std::vector<QRect> boxes_;
  QString hovered_;
  bool icons_ = false;
};

}  // namespace vitrine::app
