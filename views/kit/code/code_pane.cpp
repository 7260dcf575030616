#include "views/kit/code/code_pane.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "views/kit/code/code_painter.h"
#include "views/kit/text/find_pattern.h"
#include "views/kit/text/shown.h"
#include "views/kit/widgets/tick_bar.h"

namespace vitrine::kit {

int characterColumn(const QString& line, int utf8_bytes) {
  int bytes = 0, column = 0;
  while (column < line.size() && bytes < utf8_bytes) {
    const bool pair = line[column].isHighSurrogate() && column + 1 < line.size();
    const ushort u = line[column].unicode();
    bytes += pair ? 4 : u < 0x80 ? 1 : u < 0x800 ? 2 : 3;
    column += pair ? 2 : 1;
  }
  return column;
}

CodePane::CodePane(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  viewport()->setMouseTracking(true);
  viewport()->setCursor(Qt::ArrowCursor);
  setVerticalScrollBar(new TickBar(this, [this] { return relativeTicks(); }));
  zoom(0);
}

void CodePane::zoom(double factor) {
  size_ = factor == 0 ? 12 : std::clamp(size_ * factor, 8.0, 28.0);
  QFont font = theme().mono(static_cast<int>(size_));
  font.setStyleStrategy(QFont::PreferNoShaping);
  char_width_ = QFontMetricsF(font).horizontalAdvance(QStringLiteral("mmmmmmmmmm")) / 10;
  row_height_ = static_cast<int>(theme().codeRow() * size_ / 12);
  layoutRows();
}

std::vector<double> CodePane::relativeTicks() const {
  std::vector<double> out;
  if (!selection_ || !selection_->active || rows_.empty()) return out;
  for (const CodeSpan& span : text_.spans)
    if (selection_->mark(span.id) != Emphasis::None)
      out.push_back(std::max(0, rowOfLine(span.line)) / static_cast<double>(rows_.size()));
  return out;
}

QString tabsExpanded(const QString& line, Language language) {
  QString out = line;
  if (language != Language::Assembly && language != Language::Ptx)
    return out.replace('\t', QStringLiteral("    "));
  constexpr qsizetype kStop = 8;
  out.clear();
  for (const QChar c : line) out += c == '\t' ? QString(kStop - out.size() % kStop, ' ') : QString(c);
  return line.startsWith('\t') ? out.mid(kStop / 2) : out;
}

void CodePane::setText(CodeText text) {
  const bool same = text.text == text_.text && text.language == text_.language;
  text_ = std::move(text);
  // Inner spans are painted after outer ones.
  std::stable_sort(text_.spans.begin(), text_.spans.end(), [](const CodeSpan& a, const CodeSpan& b) {
    return a.end_line - a.line > b.end_line - b.line;
  });
  if (!same) {
    lines_.clear();
    longest_ = 0;
    int state = 0;
    for (const QString& line : text_.text.split('\n')) {
      const QString expanded = tabsExpanded(line, text_.language);
      longest_ = std::max(longest_, static_cast<int>(expanded.size()));
      lines_.push_back({expanded, scanLine(expanded, text_.language, state)});
    }
    if (!lines_.empty() && lines_.back().text.isEmpty()) lines_.pop_back();
    folded_.assign(text_.folds.size(), true);
    matches_.clear();
    verticalScrollBar()->setValue(0);
    horizontalScrollBar()->setValue(0);
  }
  folded_.resize(text_.folds.size(), true);
  layoutRows();
}

void CodePane::setSpans(std::vector<CodeSpan> spans) {
  text_.spans = std::move(spans);
  std::stable_sort(text_.spans.begin(), text_.spans.end(), [](const CodeSpan& a, const CodeSpan& b) {
    return a.end_line - a.line > b.end_line - b.line;
  });
  viewport()->update();
}

void CodePane::setMarks(const Selection* selection) {
  selection_ = selection;
  viewport()->update();
}

void CodePane::setRunning(int line) {
  running_ = line;
  if (line >= 0) scrollToLine(line);
  viewport()->update();
}

void CodePane::layoutRows() {
  rows_.clear();
  for (int line = 0; line < static_cast<int>(lines_.size()); ++line) {
    int fold = -1;
    for (size_t i = 0; i < text_.folds.size(); ++i)
      if (folded_[i] && text_.folds[i].from == line) fold = static_cast<int>(i);
    rows_.push_back({line, fold});
    if (fold >= 0) line = std::max(line, text_.folds[static_cast<size_t>(fold)].to);
  }
  const int visible = viewport()->height() / std::max(1, row_height_);
  verticalScrollBar()->setPageStep(visible);
  verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(rows_.size()) - visible));
  const int width = static_cast<int>(textLeft() + longest_ * char_width_ + 24);
  horizontalScrollBar()->setPageStep(viewport()->width());
  horizontalScrollBar()->setRange(0, std::max(0, width - viewport()->width()));
  viewport()->update();
}

// The row a line stands in; a folded line stands in its fold's box.
int CodePane::rowOfLine(int line) const {
  auto it = std::upper_bound(rows_.begin(), rows_.end(), line,
                             [](int wanted, const Row& row) { return wanted < row.line; });
  return static_cast<int>(it - rows_.begin()) - 1;
}

void CodePane::scrollToLine(int line) {
  const int row = rowOfLine(line), top = verticalScrollBar()->value();
  const int visible = viewport()->height() / std::max(1, row_height_);
  if (row < top + 1 || row > top + visible - 3) verticalScrollBar()->setValue(row - visible / 3);
}

void CodePane::startAtLine(int line) {
  verticalScrollBar()->setValue(std::max(0, rowOfLine(line) - 1));
}

int CodePane::middleLine() const {
  const int row = verticalScrollBar()->value() + viewport()->height() / std::max(1, row_height_) / 2;
  return rows_.empty() ? -1 : rows_[std::min(static_cast<size_t>(row), rows_.size() - 1)].line;
}

int CodePane::lineOf(Id id) const {
  int best = -1;
  for (const CodeSpan& span : text_.spans)
    if (span.id == id && (best < 0 || span.line < best)) best = span.line;
  return best;
}

void CodePane::reveal(Id id) {
  if (int line = lineOf(id); line >= 0) scrollToLine(line);
}

std::vector<Id> CodePane::shown() const {
  std::vector<Id> out;
  for (const CodeSpan& span : text_.spans) out.push_back(span.id);
  return out;
}

std::vector<Thing> CodePane::things() const {
  std::vector<Thing> out;
  const int first = verticalScrollBar()->value(), visible = viewport()->height() / std::max(1, row_height_);
  const double left = textLeft() - horizontalScrollBar()->value();
  for (const CodeSpan& span : text_.spans) {
    const int row = rowOfLine(span.line) - first;
    const bool known = std::any_of(out.begin(), out.end(), [&](const Thing& t) { return t.id == span.id; });
    if (row < 0 || row >= visible || known || !span.id) continue;
    const double to = span.end_line == span.line && span.end_col >= 0 ? left + span.end_col * char_width_
                                                                      : viewport()->width();
    const QRect box(static_cast<int>(left + span.col * char_width_), row * row_height_,
                    static_cast<int>(to - left - span.col * char_width_), row_height_);
    out.push_back({span.id, QRect(viewport()->mapTo(parentWidget(), box.topLeft()), box.size())});
  }
  return out;
}

int CodePane::find(const QString& text) {
  matches_.clear();
  match_ = 0;
  const QRegularExpression pattern = findPattern(text);
  for (size_t i = 0; !text.isEmpty() && pattern.isValid() && i < lines_.size(); ++i)
    for (auto all = pattern.globalMatch(lines_[i].text); all.hasNext();) {
      const QRegularExpressionMatch match = all.next();
      if (match.capturedLength() > 0)
        matches_.push_back({static_cast<int>(i), static_cast<int>(match.capturedStart()),
                            static_cast<int>(match.capturedLength())});
    }
  if (!matches_.empty()) scrollToLine(matches_[0].line);
  viewport()->update();
  return static_cast<int>(matches_.size());
}

void CodePane::findNext(bool forward) {
  if (matches_.empty()) return;
  match_ = (match_ + (forward ? 1 : matches_.size() - 1)) % matches_.size();
  scrollToLine(matches_[match_].line);
  viewport()->update();
}

QString CodePane::selectedText() const {
  for (const CodeSpan& span : text_.spans) {
    if (!selection_ || span.id != selection_->active) continue;
    QStringList lines;
    for (int l = span.line; l <= span.end_line && l < static_cast<int>(lines_.size()); ++l)
      lines << lines_[static_cast<size_t>(l)].text;
    if (span.line == span.end_line && span.end_col >= 0)
      return lines.value(0).mid(span.col, span.end_col - span.col);
    return lines.join('\n');
  }
  return text_.text;
}

constexpr int kQuiet = 1'000'000'000;  // more than any span is large

Id CodePane::idAt(const QPoint& point) const {
  const int row = verticalScrollBar()->value() + point.y() / row_height_;
  if (row < 0 || row >= static_cast<int>(rows_.size())) return 0;
  const int line = rows_[static_cast<size_t>(row)].line;
  const double x = point.x() - textLeft() + horizontalScrollBar()->value();
  const int column = static_cast<int>(x / char_width_);
  for (const CodeMark& mark : text_.marks)
    if (mark.line == line && x < 0 && mark.id) return mark.id;
  const CodeSpan* best = nullptr;
  int smallest = INT_MAX;
  for (const CodeSpan& span : text_.spans) {
    if (line < span.line || line > span.end_line) continue;
    const bool whole = span.end_col < 0;
    if (!whole &&
        ((line == span.line && column < span.col) || (line == span.end_line && column >= span.end_col)))
      continue;
    const int size = (span.end_line - span.line) * 1000 + (whole ? 999 : span.end_col - span.col) +
                     (span.quiet ? kQuiet : 0);
    if (size < smallest) {
      smallest = size;
      best = &span;
    }
  }
  return best && x > -4 ? best->id : 0;
}

void CodePane::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  CodePainter(painter, *this).paint();
  verticalScrollBar()->update();  // its ticks are of the same marks
}

void CodePane::resizeEvent(QResizeEvent*) {
  layoutRows();
}

void CodePane::mousePressEvent(QMouseEvent* event) {
  const int row = verticalScrollBar()->value() + event->pos().y() / row_height_;
  if (row >= 0 && row < static_cast<int>(rows_.size())) {
    const Row& r = rows_[static_cast<size_t>(row)];
    for (size_t i = 0; i < text_.folds.size(); ++i) {
      const bool box = r.fold == static_cast<int>(i),
                 chevron = text_.folds[i].from == r.line && event->pos().x() < textLeft();
      if (!box && !chevron) continue;
      folded_[i] = !folded_[i];
      return layoutRows();
    }
  }
  const Id id = idAt(event->pos());
  if (event->button() == Qt::MiddleButton && id) Q_EMIT open(id, true);
  if (event->button() != Qt::LeftButton) return;
  if (event->modifiers() & Qt::ControlModifier) {
    if (id) Q_EMIT toggle(id);
  } else {
    Q_EMIT activate(id);
  }
}

void CodePane::mouseMoveEvent(QMouseEvent* event) {
  Q_EMIT hover(idAt(event->pos()));
}
void CodePane::leaveEvent(QEvent*) {
  Q_EMIT hover(0);
}
void CodePane::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const Id id = idAt(event->pos())) Q_EMIT open(id, false);
}

void CodePane::moveCursor(int by, bool extend) {
  std::vector<const CodeSpan*> spans;
  for (const CodeSpan& span : text_.spans)
    if (span.id) spans.push_back(&span);
  if (spans.empty() || !selection_) return;
  std::stable_sort(spans.begin(), spans.end(), [](const CodeSpan* a, const CodeSpan* b) {
    return std::pair(a->line, a->col) < std::pair(b->line, b->col);
  });
  const auto count = static_cast<int>(spans.size());
  auto at = [&](Id id) {
    auto it = std::find_if(spans.begin(), spans.end(), [id](const CodeSpan* span) { return span->id == id; });
    return it == spans.end() ? -1 : static_cast<int>(it - spans.begin());
  };
  int now = at(selection_->hover);
  if (now < 0) now = at(selection_->active);
  if (now < 0) now = by > 0 ? -1 : count;
  const Id before = now >= 0 && now < count ? spans[static_cast<size_t>(now)]->id : 0;
  for (now += by; now >= 0 && now < count && spans[static_cast<size_t>(now)]->id == before;) now += by;
  if (now < 0 || now >= count) return;
  const CodeSpan& span = *spans[static_cast<size_t>(now)];
  if (extend && !selection_->isSelected(span.id)) Q_EMIT toggle(span.id);
  Q_EMIT hover(span.id);
  scrollToLine(span.line);
}

void CodePane::keyPressEvent(QKeyEvent* event) {
  const int page = verticalScrollBar()->pageStep();
  QScrollBar* bar = verticalScrollBar();
  switch (event->key()) {
    case Qt::Key_Down:
      return bar->setValue(bar->value() + 1);
    case Qt::Key_Up:
      return bar->setValue(bar->value() - 1);
    case Qt::Key_Left:
      return moveCursor(-1, event->modifiers() & Qt::ShiftModifier);
    case Qt::Key_Right:
      return moveCursor(1, event->modifiers() & Qt::ShiftModifier);
    case Qt::Key_PageDown:
      return bar->setValue(bar->value() + page);
    case Qt::Key_PageUp:
      return bar->setValue(bar->value() - page);
    default:
      event->ignore();
  }
}

bool CodePane::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Wheel) {
    auto* wheel = static_cast<QWheelEvent*>(event);
    if (wheel->modifiers() & Qt::ControlModifier) {
      zoom(wheel->angleDelta().y() > 0 ? 1.1 : 1 / 1.1);
      return true;
    }
    if (wheel->modifiers() & Qt::ShiftModifier && wheel->angleDelta().y()) {
      horizontalScrollBar()->setValue(horizontalScrollBar()->value() - wheel->angleDelta().y() / 2);
      return true;
    }
  }
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const int row = verticalScrollBar()->value() + help->pos().y() / row_height_;
    QStringList lines;
    if (row >= 0 && row < static_cast<int>(rows_.size())) {
      const int line = rows_[static_cast<size_t>(row)].line;
      for (const CodeMark& mark : text_.marks)
        if (mark.line == line && help->pos().x() < textLeft()) lines << mark.tooltip;
      for (const CodeRemark& remark : text_.remarks)
        if (remark.line == line) lines << remark.text;
      for (const CodeShare& share : text_.shares)
        if (share.line == line && help->pos().x() >= sharesLeft() && help->pos().x() < textLeft())
          lines << share.tooltip;
    }
    if (lines.isEmpty())
      QToolTip::hideText();
    else
      QToolTip::showText(help->globalPos(), tip(lines.join('\n')), viewport());
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace vitrine::kit
