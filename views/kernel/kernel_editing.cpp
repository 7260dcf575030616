// A kernel's text in the hand of the user: the editor in place of the pane, and what became of the text.
#include "views/kernel/kernel_view.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

bool KernelView::canEdit() const {
  const KernelRow* k = session() && stage() == "kernels" ? session()->kernels.find(kernel_) : nullptr;
  return k && edits() && !session()->imported() && k->kind == "generated" && k->source.row;
}

const KernelEdit* KernelView::edit() const {
  return edits() && stage() == "kernels" ? edits()->find(kernel_) : nullptr;
}

bool KernelView::act(std::string_view command) {
  if (command != "kernel.edit" || !canEdit()) return false;
  const KernelRow* k = session()->kernels.find(kernel_);
  withText(QStringLiteral("edit"), k->source, [this, id = kernel_](Text text) {
    if (id != kernel_ || !edits()) return;
    const int line = pane_->middleLine();
    edits()->begin(id, QString::fromStdString(*text));
    if (!editor_) return;
    editor_->goToLine(std::max(0, line));
    editor_->setFocus();
  });
  return true;
}

void KernelView::editsChanged(Id kernel) {
  if (kernel == kernel_) showEdit();
}

void KernelView::showEdit() {
  if (begin_) begin_->setVisible(canEdit() && !edit());
  const KernelEdit* now = edit();
  if (!now) {
    if (editor_) pane_->show();
    closeEditor();
    arrange();
    Q_EMIT headerChanged();
    return;
  }
  if (!editor_) {
    editor_ = new CodeEditor(Language::Cpp, this);
    told_ = new Banner(this);
    connect(editor_, &QPlainTextEdit::textChanged, this, [this] {
      if (edits() && edit()) edits()->write(kernel_, editor_->toPlainText());
    });
    connect(told_, &Banner::commandRequested, this, &KernelView::commandRequested);
    setFocusProxy(editor_);
    editor_->show();
  }
  editor_->setText(now->text);
  editor_->setErrors(now->errors);
  const QString title = !now->said.isEmpty() ? now->said
                        : now->changed()     ? QStringLiteral("Edited, and not rebuilt yet.")
                                             : QStringLiteral("Change the text, then rebuild it.");
  QList<QPair<QString, QString>> acts;
  if (!now->busy) acts << QPair<QString, QString>{"Rebuild (F7)", "kernel.rebuild"};
  if (now->busy) acts << QPair<QString, QString>{"Cancel", "run.cancel"};
  if (!now->recording.isEmpty()) acts << QPair<QString, QString>{"Keep: open its run", "kernel.keep"};
  if (!now->busy) acts << QPair<QString, QString>{"Discard", "kernel.discard"};
  told_->show(now->tone, title, now->detail, acts);
  arrange();
  Q_EMIT headerChanged();
}

// What was typed stays with the window's edits.
void KernelView::closeEditor() {
  setFocusProxy(pane_);
  if (editor_ && editor_->hasFocus()) pane_->setFocus();
  for (QWidget* part : {static_cast<QWidget*>(std::exchange(editor_, nullptr)),
                        static_cast<QWidget*>(std::exchange(told_, nullptr))}) {
    if (!part) continue;
    part->disconnect(this);
    part->hide();
    part->deleteLater();  // its own signal may have led here
  }
}

void KernelView::arrange() {
  if (!editor_) {
    pane_->setGeometry(rect());
    return;
  }
  const int said =
      told_->heightForWidth(width()) > 0 ? told_->heightForWidth(width()) : told_->sizeHint().height();
  told_->setGeometry(0, 0, width(), said);
  editor_->setGeometry(0, said, width(), height() - said);
  pane_->hide();
}

void KernelView::themeChanged() {
  pane_->zoom(1);
  if (editor_) editor_->applyTheme();
}

}  // namespace vitrine::views
