#include "views/kit/widgets/tick_bar.h"

#include <QPainter>
#include <set>

#include "views/kit/painting/theme.h"

namespace vitrine::kit {

TickBar::TickBar(QWidget* parent, Ticks ticks) : QScrollBar(Qt::Vertical, parent), ticks_(std::move(ticks)) {}

void TickBar::paintEvent(QPaintEvent* event) {
  QScrollBar::paintEvent(event);
  painted_ = 0;
  if (maximum() <= minimum()) return;
  const int height = theme().px(2);
  std::set<int> places;
  for (double tick : ticks_()) places.insert(static_cast<int>(tick * (this->height() - height)));
  QPainter painter(this);
  for (int y : places) painter.fillRect(0, y, width(), height, theme().ring);
  painted_ = static_cast<int>(places.size());
}

}  // namespace vitrine::kit
