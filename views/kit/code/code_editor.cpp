#include "views/kit/code/code_editor.h"

#include <QPaintEvent>
#include <QPainter>
#include <QSyntaxHighlighter>
#include <QTextBlock>

#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"

namespace vitrine::kit {

namespace {

class Colours : public QSyntaxHighlighter {
 public:
  Colours(Language language, QTextDocument* document) : QSyntaxHighlighter(document), language_(language) {}

 protected:
  void highlightBlock(const QString& text) override {
    int state = std::max(0, previousBlockState());
    for (const Token& token : scanLine(text, language_, state))
      setFormat(token.start, token.length, tokenColour(token.kind));
    setCurrentBlockState(state);
  }

 private:
  Language language_;
};

}  // namespace

CodeEditor::CodeEditor(Language language, QWidget* parent)
    : QPlainTextEdit(parent), margin_(new QWidget(this)) {
  setLineWrapMode(NoWrap);
  setFrameShape(QFrame::NoFrame);
  setAccessibleName(QStringLiteral("Text of the kernel"));
  new Colours(language, document());
  margin_->installEventFilter(this);
  connect(this, &QPlainTextEdit::updateRequest, margin_, [this] { margin_->update(); });
  connect(this, &QPlainTextEdit::blockCountChanged, this,
          [this] { setViewportMargins(marginWidth(), 0, 0, 0); });
  applyTheme();
}

void CodeEditor::applyTheme() {
  setFont(theme().mono(12));
  setTabStopDistance(fontMetrics().horizontalAdvance(' ') * 2);
  setViewportMargins(marginWidth(), 0, 0, 0);
  for (auto* colours : document()->findChildren<QSyntaxHighlighter*>()) colours->rehighlight();
  markErrors();
}

void CodeEditor::setText(const QString& text) {
  if (toPlainText() != text) setPlainText(text);
}

void CodeEditor::setErrors(const std::vector<KernelError>& errors) {
  errors_ = errors;
  markErrors();
}

void CodeEditor::goToLine(int line) {
  setTextCursor(QTextCursor(document()->findBlockByNumber(line)));
  centerCursor();
}

int CodeEditor::marginWidth() const {
  return theme().px(56);  // number and mark, as in code that is only read
}

QString CodeEditor::errorAt(int line) const {
  for (const KernelError& error : errors_)
    if (error.line == line) return error.text;
  return {};
}

void CodeEditor::markErrors() {
  QList<QTextEdit::ExtraSelection> marked;
  for (const KernelError& error : errors_) {
    QTextEdit::ExtraSelection line;
    line.cursor = QTextCursor(document()->findBlockByNumber(error.line));
    line.format.setBackground(theme().softErr);
    line.format.setProperty(QTextFormat::FullWidthSelection, true);
    marked << line;
  }
  setExtraSelections(marked);
  margin_->update();
  viewport()->update();
}

void CodeEditor::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  margin_->setGeometry(contentsRect().x(), contentsRect().y(), marginWidth(), contentsRect().height());
}

// What the compiler said stands behind the line's text, never over it.
void CodeEditor::paintEvent(QPaintEvent* event) {
  QPlainTextEdit::paintEvent(event);
  QPainter painter(viewport());
  for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
    const QRectF box = blockBoundingGeometry(block).translated(contentOffset());
    if (box.top() > viewport()->height()) break;
    const QString said = errorAt(block.blockNumber());
    if (said.isEmpty()) continue;
    const int after = static_cast<int>(box.x()) + textWidth(font(), block.text()) + theme().px(24);
    drawText(painter,
             QRect(after, static_cast<int>(box.y()), viewport()->width() - after - theme().px(8),
                   static_cast<int>(box.height())),
             said, theme().ui(11), theme().err);
  }
}

void CodeEditor::paintMargin() {
  QPainter painter(margin_);
  painter.fillRect(margin_->rect(), theme().bg1);
  for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
    const QRect box = blockBoundingGeometry(block).translated(contentOffset()).toAlignedRect();
    if (box.top() > margin_->height()) break;
    drawText(painter, QRect(0, box.y(), theme().px(36), box.height()),
             QString::number(block.blockNumber() + 1), theme().mono(11), theme().text3, Qt::AlignRight);
    if (!errorAt(block.blockNumber()).isEmpty())
      drawIcon(painter, "error",
               QRect(theme().px(40), box.y() + theme().px(2), theme().px(14), theme().px(14)), theme().err);
  }
}

bool CodeEditor::eventFilter(QObject* watched, QEvent* event) {
  if (watched != margin_ || event->type() != QEvent::Paint)
    return QPlainTextEdit::eventFilter(watched, event);
  paintMargin();
  return true;
}

}  // namespace vitrine::kit
