// Code that the user changes: line numbers, the colours of code, and what a compiler said, at its lines.
#pragma once

#include <QPlainTextEdit>
#include <vector>

#include "views/kit/code/highlight.h"
#include "views/kit/code/kernel_edits.h"

namespace vitrine::kit {

class CodeEditor : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit CodeEditor(Language language, QWidget* parent = nullptr);
  void setText(const QString& text);  // keeps cursor and undo when it is the text that stands here
  void setErrors(const std::vector<KernelError>& errors);
  void goToLine(int line);  // from 0
  void applyTheme();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  int marginWidth() const;
  void paintMargin();
  void markErrors();
  QString errorAt(int line) const;  // "" = none

  QWidget* margin_;
  std::vector<KernelError> errors_;
};

}  // namespace vitrine::kit
