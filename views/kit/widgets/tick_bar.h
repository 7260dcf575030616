// A scroll bar that says where relatives of the active thing stand: a 2 px tick each, also of those in view.
#pragma once

#include <QScrollBar>
#include <functional>
#include <vector>

namespace vitrine::kit {

class TickBar : public QScrollBar {
 public:
  // ticks: places from 0 (top) to 1 (bottom); asked at each painting of the bar.
  using Ticks = std::function<std::vector<double>()>;
  TickBar(QWidget* parent, Ticks ticks);
  int painted() const { return painted_; }  // ticks of the last painting; near ones fall together

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Ticks ticks_;
  int painted_ = 0;
};

}  // namespace vitrine::kit
