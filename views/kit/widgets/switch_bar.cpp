#include "views/kit/widgets/switch_bar.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "views/kit/painting/paint.h"

namespace vitrine::kit {

SwitchBar::SwitchBar(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::TabFocus);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void SwitchBar::setChoices(const QStringList& choices) {
  if (choices == choices_) return;
  choices_ = choices;
  if (current_ >= choices_.size()) current_ = 0;
  setAccessibleName(choices_.value(current_));
  updateGeometry();
  update();
}

void SwitchBar::setCurrent(int index) {
  current_ = index;
  setAccessibleName(choices_.value(current_));
  update();
}

QRect SwitchBar::box(int index) const {
  int x = 0;
  for (int i = 0; i <= index && i < choices_.size(); ++i) {
    const int width = textWidth(theme().ui(12, 500), choices_[i]) + theme().px(16);
    if (i == index) return {x, 0, width, height()};
    x += width;
  }
  return {};
}

QSize SwitchBar::sizeHint() const {
  int width = 0;
  for (const QString& choice : choices_) width += textWidth(theme().ui(12, 500), choice) + theme().px(16);
  return {width, theme().px(24)};
}

void SwitchBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  for (int i = 0; i < choices_.size(); ++i) {
    const bool on = i == current_;
    if (on) {
      painter.setRenderHint(QPainter::Antialiasing);
      painter.setPen(Qt::NoPen);
      painter.setBrush(theme().bg3);
      painter.drawRoundedRect(box(i), theme().radius(), theme().radius());
    }
    drawText(painter, box(i), choices_[i], theme().ui(12, on ? 500 : 400), on ? theme().text1 : theme().text2,
             Qt::AlignHCenter);
  }
  if (hasFocus()) dashedBox(painter, rect(), theme().text2, theme().radius());
}

void SwitchBar::choose(int index) {
  if (index < 0 || index >= choices_.size() || index == current_) return;
  setCurrent(index);
  Q_EMIT chosen(index);
}

void SwitchBar::mousePressEvent(QMouseEvent* event) {
  for (int i = 0; i < choices_.size(); ++i)
    if (box(i).contains(event->position().toPoint())) return choose(i);
}

void SwitchBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right)
    return choose(current_ + (event->key() == Qt::Key_Right ? 1 : -1));
  QWidget::keyPressEvent(event);
}

}  // namespace vitrine::kit
