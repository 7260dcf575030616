#include "app/shell/commands/note_field.h"

#include <QKeyEvent>
#include <QVBoxLayout>

#include "app/shell/commands/own_keys.h"
#include "views/kit/painting/theme.h"
#include "views/kit/text/shown.h"

namespace vitrine::app {

using kit::theme;

NoteField::NoteField(QWidget* parent)
    : QFrame(parent),
      title_(new QLabel(this)),
      keys_(new QLabel("Ctrl+Enter keeps it, Esc leaves it as it was; without words it goes", this)),
      text_(new QPlainTextEdit(this)) {
  hide();
  setAutoFillBackground(true);
  setFrameShape(QFrame::StyledPanel);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme().px(12), theme().px(10), theme().px(12), theme().px(10));
  column->addWidget(title_);
  column->addWidget(text_, 1);
  column->addWidget(keys_);
  keys_->setFont(theme().ui(11));
  keys_->setForegroundRole(QPalette::PlaceholderText);
  text_->setAccessibleName("Note");
  text_->setTabChangesFocus(true);
  text_->installEventFilter(this);
}

void NoteField::open(Id id, const QString& name, const QString& text) {
  id_ = id;
  title_->setTextFormat(Qt::PlainText);
  title_->setText(kit::shown("Note on " + name));
  text_->setPlainText(text);
  text_->moveCursor(QTextCursor::End);
  const int width = std::min(theme().px(560), parentWidget()->width() - theme().px(40));
  setGeometry((parentWidget()->width() - width) / 2, theme().px(38), width, theme().px(180));
  show();
  raise();
  text_->setFocus();
}

bool NoteField::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut && isVisible() &&
      static_cast<QFocusEvent*>(event)->reason() != Qt::PopupFocusReason) {
    hide();
    Q_EMIT written(id_, text_->toPlainText().trimmed());
  }
  if (keeps_escape_and_enter(event)) return true;
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    if (key->key() == Qt::Key_Escape) return hide(), true;
    if (enter && key->modifiers() & Qt::ControlModifier) {
      hide();  // and by losing the focus it is kept
      return true;
    }
  }
  return QFrame::eventFilter(watched, event);
}

}  // namespace vitrine::app
