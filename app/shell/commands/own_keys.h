// Keys that a field over the window has for itself while it is open.
#pragma once

#include <QEvent>
#include <QKeyEvent>

namespace vitrine::app {

// Esc and Enter, before they mean "nothing active" and "open in the other pane": the event is accepted.
inline bool keeps_escape_and_enter(QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride) return false;
  const int key = static_cast<QKeyEvent*>(event)->key();
  if (key != Qt::Key_Escape && key != Qt::Key_Return && key != Qt::Key_Enter) return false;
  event->accept();
  return true;
}

}  // namespace vitrine::app
