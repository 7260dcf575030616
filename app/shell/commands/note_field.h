// The field in which a note on one thing is written. Ctrl+Enter keeps it, Esc does not.
#pragma once

#include <QFrame>
#include <QLabel>
#include <QPlainTextEdit>

#include "core/base/ids.h"

namespace vitrine::app {

class NoteField : public QFrame {
  Q_OBJECT
 public:
  explicit NoteField(QWidget* parent);
  void open(Id id, const QString& name, const QString& text);
  QPlainTextEdit* text() { return text_; }

 Q_SIGNALS:
  void written(vitrine::Id id, const QString& text);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  Id id_ = 0;
  QLabel *title_, *keys_;
  QPlainTextEdit* text_;
};

}  // namespace vitrine::app
