#include "app/shell/bars/chain_bar.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/shown.h"

namespace vitrine::app {

using kit::theme;

ChainBar::ChainBar(QWidget* parent) : QWidget(parent) {
  setFixedHeight(theme().px(28));
  setMouseTracking(true);
  setAccessibleName("Chain of the active thing");
}

void ChainBar::set(const kit::SessionPtr& session, const kit::Selection& selection) {
  links_ = session ? kit::chainOf(*session, selection) : std::vector<kit::ChainLink>();
  hovered_ = session ? session->label(selection.hover) : QString();
  place();
}

void ChainBar::place() {
  boxes_.clear();
  const int gap = theme().px(12);
  const int room = width() - theme().px(hovered_.isEmpty() ? 16 : 220) - theme().px(10) -
                   gap * static_cast<int>(links_.size());
  // Where it is narrow an icon stands for the stage; then the longest names are shortened, alike.
  std::vector<int> widths;
  for (bool icons : {false, true}) {
    icons_ = icons;
    widths.clear();
    int total = 0;
    for (const kit::ChainLink& link : links_) {
      const int head = iconOf(link) ? theme().px(14) : kit::textWidth(theme().ui(11), link.stage);
      widths.push_back(head + kit::textWidth(theme().mono(11, link.ring ? 600 : 400), link.text) +
                       theme().px(20));
      total += widths.back();
    }
    if (total <= room) break;
  }
  const int most = widestOf(widths, room);
  int x = theme().px(10);
  for (int width : widths) {
    boxes_.emplace_back(x, theme().px(5), std::min(width, most), height() - theme().px(10));
    x += std::min(width, most) + gap;
  }
  update();
}

// The width that none may exceed so that all together fit into the room.
int ChainBar::widestOf(std::vector<int> widths, int room) {
  std::sort(widths.begin(), widths.end());
  for (size_t i = 0; i < widths.size(); ++i) {
    const int rest = static_cast<int>(widths.size() - i);
    if (widths[i] * rest > room) return std::max(0, room / rest);
    room -= widths[i];
  }
  return widths.empty() ? 0 : widths.back();
}

bool ChainBar::iconOf(const kit::ChainLink& link) const {
  return icons_ && !link.ring && !link.icon.isEmpty();
}

void ChainBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg2);
  kit::hairline(painter, QPointF(0, 0), QPointF(width(), 0), theme().line);
  if (links_.empty()) {
    kit::drawText(painter, rect().adjusted(theme().px(10), 0, -theme().px(220), 0),
                  "Nothing is active yet. When something is, its whole chain stands here, from the Python "
                  "expression to "
                  "the timeline.",
                  theme().ui(11), theme().text2);
  }
  for (size_t i = 0; i < links_.size(); ++i) {
    const kit::ChainLink& link = links_[i];
    QRect box = boxes_[i];
    if (i)
      kit::drawIcon(
          painter, "chevron-right",
          QRect(box.x() - theme().px(12), (height() - theme().px(10)) / 2, theme().px(10), theme().px(10)),
          theme().text3);
    if (link.ring) {
      painter.setRenderHint(QPainter::Antialiasing);
      painter.setPen(Qt::NoPen);
      painter.setBrush(theme().sel);
      painter.drawRoundedRect(box, theme().px(3), theme().px(3));
      kit::drawMark(painter, QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), kit::Emphasis::Ring, false,
                    theme().px(3));
    }
    box.adjust(theme().px(5), 0, -theme().px(4), 0);
    int used = theme().px(14);
    if (iconOf(link))
      kit::drawIcon(painter, link.icon, QRect(box.left(), (height() - used) / 2, used, used), theme().text2);
    else
      used = kit::drawText(painter, box, link.stage, theme().ui(11), theme().text2);
    box.setLeft(box.left() + used + theme().px(6));
    kit::drawText(painter, box, link.text, theme().mono(11, link.ring ? 600 : 400), theme().text1,
                  Qt::AlignLeft, kit::Elide::Middle);
  }
  if (hovered_.isEmpty()) return;
  QRect right(width() - theme().px(210), 0, theme().px(200), height());
  const int used = std::min(right.width() - theme().px(40), kit::textWidth(theme().mono(11), hovered_));
  kit::drawText(painter, QRect(right.right() - used, 0, used + 1, height()), hovered_, theme().mono(11),
                theme().text2, Qt::AlignRight, kit::Elide::Middle);
  kit::drawText(painter, QRect(right.right() - used - theme().px(42), 0, theme().px(36), height()), "hover",
                theme().ui(11), theme().text3, Qt::AlignRight);
}

int ChainBar::linkAt(QPoint point) const {
  for (size_t i = 0; i < boxes_.size(); ++i)
    if (boxes_[i].adjusted(0, -theme().px(5), 0, theme().px(5)).contains(point)) return static_cast<int>(i);
  return -1;
}

void ChainBar::mousePressEvent(QMouseEvent* event) {
  if (const int at = linkAt(event->position().toPoint()); at >= 0)
    Q_EMIT activate(links_[static_cast<size_t>(at)].id);
}

void ChainBar::mouseMoveEvent(QMouseEvent* event) {
  const int at = linkAt(event->position().toPoint());
  Q_EMIT hover(at >= 0 ? links_[static_cast<size_t>(at)].id : 0);
}

void ChainBar::leaveEvent(QEvent*) {
  Q_EMIT hover(0);
}

bool ChainBar::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  if (const int at = linkAt(help->pos()); at >= 0) {
    const kit::ChainLink& link = links_[static_cast<size_t>(at)];
    QToolTip::showText(help->globalPos(), kit::tip(link.stage + ": " + link.text), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

void ChainBar::resizeEvent(QResizeEvent*) {
  place();
}

}  // namespace vitrine::app
