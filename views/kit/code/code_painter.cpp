#include "views/kit/code/code_painter.h"

#include <QScrollBar>
#include <algorithm>
#include <map>

#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/shown.h"

namespace vitrine::kit {

namespace {
constexpr int kNumbers = 40, kMarks = 16, kLetters = 16, kFolds = 14;
constexpr int kParts = 46, kWords = 96;  // of a share: the number before its bar, and the word
constexpr int kWordsFrom = 620;  // a narrower pane leaves the words to the tooltip: the code comes first
}  // namespace

int CodePane::roomOfShareWords() {
  return theme().px(kWords) - 6;
}

bool CodePane::sharesHaveWords() const {
  return viewport()->width() >= theme().px(kWordsFrom);
}

double CodePane::textLeft() const {
  const int shares = text_.shares.empty() ? 0 : kParts + (sharesHaveWords() ? kWords : 0);
  return theme().px(kNumbers + kMarks + kLetters + kFolds + shares) + 4;
}

double CodePane::sharesLeft() const {
  return theme().px(kNumbers + kMarks + kLetters + kFolds);
}

CodePainter::CodePainter(QPainter& painter, const CodePane& pane)
    : p_(painter),
      pane_(pane),
      t_(theme()),
      first_(pane.verticalScrollBar()->value()),
      last_(std::min<int>(static_cast<int>(pane.rows_.size()),
                          first_ + pane.viewport()->height() / pane.rowHeight() + 2)),
      left_(pane.textLeft() - pane.horizontalScrollBar()->value()) {
  font_ = t_.mono(static_cast<int>(pane.size_));
  font_.setStyleStrategy(QFont::PreferNoShaping);
}

QRectF CodePainter::rowRect(int row) const {
  return {0, static_cast<double>((row - first_) * pane_.rowHeight()),
          static_cast<double>(pane_.viewport()->width()), static_cast<double>(pane_.rowHeight())};
}

QRectF CodePainter::blockOf(const CodeSpan& span) const {
  int from = pane_.rowOfLine(span.line), to = pane_.rowOfLine(span.end_line);
  if (from < 0 || to < 0 || to < first_ || from >= last_) return {};
  int least = INT_MAX, longest = 0;
  for (int line = span.line; line <= span.end_line && line < static_cast<int>(pane_.lines_.size()); ++line) {
    const QString& text = pane_.lines_[static_cast<size_t>(line)].text;
    int indent = 0;
    while (indent < text.size() && text[indent].isSpace()) ++indent;
    if (indent == text.size()) continue;
    int start = line == span.line && span.end_col >= 0 ? span.col : indent;
    int end = line == span.end_line && span.end_col >= 0 ? span.end_col : static_cast<int>(text.size());
    least = std::min(least, start);
    longest = std::max(longest, end);
  }
  if (least == INT_MAX) return {};
  double w = pane_.charWidth(), x = left_ + least * w;
  return {x - 2, rowRect(from).top(), (longest - least) * w + 4, rowRect(to).bottom() - rowRect(from).top()};
}

bool CodePainter::fillsLines(const CodeSpan& span) const {
  if (span.end_line >= static_cast<int>(pane_.lines_.size())) return false;
  if (span.end_col < 0) return true;
  const auto text = [&](int line) { return pane_.lines_[static_cast<size_t>(line)].text; };
  return text(span.line).left(span.col).trimmed().isEmpty() &&
         text(span.end_line).mid(span.end_col).trimmed().isEmpty();
}

std::vector<CodeSpan> CodePainter::merged(
    const std::function<std::optional<int>(const CodeSpan&)>& key) const {
  std::vector<CodeSpan> spans = pane_.text_.spans, out;
  std::stable_sort(spans.begin(), spans.end(), [](const CodeSpan& a, const CodeSpan& b) {
    return a.line != b.line ? a.line < b.line : a.end_line > b.end_line;  // outer spans stay first
  });
  std::map<int, size_t> open;  // key -> its run that a next line may join
  for (const CodeSpan& span : spans) {
    const std::optional<int> wanted = key(span);
    if (!wanted) continue;
    const auto run = open.find(*wanted);
    const bool whole = fillsLines(span);
    if (whole && run != open.end() && span.line >= out[run->second].line &&
        span.line <= out[run->second].end_line + 1) {
      CodeSpan& block = out[run->second];
      block.end_line = std::max(block.end_line, span.end_line);
      block.col = 0;
      block.end_col = -1;
      continue;
    }
    out.push_back(span);
    if (whole) open[*wanted] = out.size() - 1;
  }
  return out;
}

void CodePainter::paint() {
  p_.fillRect(pane_.viewport()->rect(), t_.bg1);
  p_.save();
  p_.setClipRect(QRectF(pane_.textLeft() - 3, 0, pane_.viewport()->width(), pane_.viewport()->height()));
  fills();
  p_.restore();
  rows();
  p_.save();
  p_.setClipRect(QRectF(pane_.textLeft() - 4, 0, pane_.viewport()->width(), pane_.viewport()->height()));
  outlines();
  p_.restore();
}

int CodePainter::letterOf(const CodeSpan& span) const {
  return !pane_.selection_ || pane_.selection_->linkColours ? span.letter : -1;
}

// Outer spans first, so that the innermost wins.
void CodePainter::fills() {
  p_.setPen(Qt::NoPen);
  const auto blocks = merged([&](const CodeSpan& span) -> std::optional<int> {
    bool marked = pane_.selection_ && pane_.selection_->mark(span.id) != Emphasis::None;
    const int letter = letterOf(span);
    return letter >= 0 || marked ? std::optional(letter) : std::nullopt;
  });
  for (const CodeSpan& span : blocks) {
    QRectF box = blockOf(span);
    if (!box.isEmpty()) p_.fillRect(box, letterOf(span) >= 0 ? t_.link(span.letter) : t_.sel);
  }
  for (size_t i = 0; i < pane_.matches_.size(); ++i) {
    const CodePane::Match& match = pane_.matches_[i];
    int row = pane_.rowOfLine(match.line);
    if (row < first_ || row >= last_) continue;
    QRectF box(left_ + match.column * pane_.charWidth(), rowRect(row).top(), match.length * pane_.charWidth(),
               pane_.rowHeight());
    p_.fillRect(box, t_.softWarn);
    if (i == pane_.match_)  // where F3 stands
      hairlineBox(p_, box, t_.text1);
    else
      dashedBox(p_, box, t_.text2);
  }
}

void CodePainter::rows() {
  for (int row = first_; row < last_; ++row) {
    QRectF box = rowRect(row);
    p_.save();
    p_.setClipRect(QRectF(pane_.textLeft() - 2, box.top(), pane_.viewport()->width(), box.height()));
    if (pane_.rows_[static_cast<size_t>(row)].fold >= 0)
      foldBox(row, box);
    else
      text(row, box);
    p_.restore();
    gutter(row, box);
    remarks(row, box);
  }
}

void CodePainter::text(int row, const QRectF& box) {
  const CodePane::Line& line = pane_.lines_[static_cast<size_t>(pane_.rows_[static_cast<size_t>(row)].line)];
  p_.setFont(font_);
  QFontMetricsF metrics(font_);
  double baseline = box.top() + (box.height() + metrics.ascent() - metrics.descent()) / 2,
         w = pane_.charWidth();
  auto draw = [&](int start, int length, const QColor& colour) {
    if (length <= 0) return;
    p_.setPen(colour);
    p_.drawText(QPointF(left_ + start * w, baseline), shown(line.text.mid(start, length)));
  };
  int at = 0;
  for (const Token& token : line.tokens) {
    draw(at, token.start - at, t_.text1);
    draw(token.start, token.length, tokenColour(token.kind));
    at = std::max(at, token.start + token.length);
  }
  draw(at, static_cast<int>(line.text.size()) - at, t_.text1);
}

void CodePainter::foldBox(int row, const QRectF& box) {
  const CodeFold& fold = pane_.text_.folds[static_cast<size_t>(pane_.rows_[static_cast<size_t>(row)].fold)];
  QString title = fold.title, lines = QStringLiteral("%1 lines").arg(fold.to - fold.from + 1);
  double width = textWidth(t_.mono(11), title) + 14;
  QRectF frame(left_ - 2, box.top() + 1, width, box.height() - 2);
  hairlineBox(p_, frame, t_.nodeLine);
  drawText(p_, frame.adjusted(6, 0, 0, 0).toRect(), title, t_.mono(11), t_.text2);
  drawText(p_, QRectF(frame.right() + 8, box.top(), 120, box.height()).toRect(), lines, t_.mono(11),
           t_.text3);
}

void CodePainter::gutter(int row, const QRectF& box) {
  const CodePane::Row& r = pane_.rows_[static_cast<size_t>(row)];
  p_.fillRect(QRectF(0, box.top(), pane_.textLeft() - 4, box.height()), t_.bg1);
  int numbers = t_.px(kNumbers), marks = t_.px(kMarks), letters = t_.px(kLetters);
  drawText(p_, QRectF(0, box.top(), numbers - 4, box.height()).toRect(),
           QString::number(r.line + pane_.text_.first_number), t_.mono(11), t_.text3, Qt::AlignRight);
  QRect mark(numbers, static_cast<int>(box.top()), marks, static_cast<int>(box.height()));
  bool marked = false;
  for (const CodeMark& m : pane_.text_.marks)
    if (m.line == r.line) drawIcon(p_, m.icon, centred(mark, 14), t_.tone(m.tone)), marked = true;
  // Where the film stands; left of the number when the line has a mark of its own.
  if (r.line == pane_.running_)
    drawIcon(p_, "play", centred(marked ? QRect(0, mark.y(), marks, mark.height()) : mark, 12), t_.text1);
  int letter = -1;
  for (const CodeSpan& span : pane_.text_.spans)
    if (letterOf(span) >= 0 && span.line <= r.line && r.line <= span.end_line) letter = span.letter;
  if (letter >= 0)
    drawText(p_, QRectF(numbers + marks, box.top(), letters, box.height()).toRect(),
             QString(QChar('a' + letter % 26)), t_.mono(11), t_.text2, Qt::AlignHCenter);
  for (size_t i = 0; i < pane_.text_.folds.size(); ++i)
    if (pane_.text_.folds[i].from == r.line)
      drawIcon(p_, pane_.folded_[i] ? "chevron-right" : "chevron-down",
               centred(QRect(numbers + marks + letters, static_cast<int>(box.top()), t_.px(kFolds),
                             static_cast<int>(box.height())),
                       10),
               t_.text3);
  for (const CodeShare& each : pane_.text_.shares)
    if (each.line == r.line) share(each, box);
}

// "12 % memory": the number on a bar as long as its part of the largest, the word behind it.
void CodePainter::share(const CodeShare& share, const QRectF& box) {
  double most = 0;
  for (const CodeShare& each : pane_.text_.shares) most = std::max(most, each.part);
  const double left = pane_.sharesLeft(), parts = t_.px(kParts);
  const int step = share.part >= most * 0.75  ? 4
                   : share.part >= most * 0.4 ? 3
                   : share.part >= most * 0.1 ? 2
                                              : 1;
  const double length = most > 0 ? std::max(1.0, (parts - 4) * share.part / most) : 0;
  p_.fillRect(QRectF(left, box.top() + 1, length, box.height() - 2), t_.heat(step));
  drawText(p_, QRectF(left, box.top(), parts - 6, box.height()).toRect(), percentText(share.part),
           t_.mono(11), t_.text1, Qt::AlignRight);
  if (pane_.sharesHaveWords())
    drawText(p_, QRectF(left + parts, box.top(), CodePane::roomOfShareWords(), box.height()).toRect(),
             share.text, t_.mono(11), t_.text3);
}

// One pill a line, right of everything; "+2" when there are more.
void CodePainter::remarks(int row, const QRectF& box) {
  const CodePane::Row& r = pane_.rows_[static_cast<size_t>(row)];
  if (r.fold >= 0) return;
  const CodeRemark* first = nullptr;
  int more = -1;
  for (const CodeRemark& remark : pane_.text_.remarks)
    if (remark.line == r.line) {
      if (!first) first = &remark;
      ++more;
    }
  if (!first) return;
  QString text = first->text + (more > 0 ? QStringLiteral("  +%1").arg(more) : QString());
  double end =
      left_ + static_cast<double>(pane_.lines_[static_cast<size_t>(r.line)].text.size()) * pane_.charWidth() +
      14;
  int width = pillWidth(text, true);
  QPoint at(static_cast<int>(end), static_cast<int>(box.top()) + 1);
  if (end + width <= pane_.viewport()->width() - 6) {
    drawPill(p_, at, t_.px(16), text, first->tone, first->icon);
  } else {
    drawIcon(p_, first->icon,
             centred(QRect(t_.px(kNumbers), static_cast<int>(box.top()), t_.px(kMarks),
                           static_cast<int>(box.height())),
                     12),
             t_.tone(first->tone));
  }
}

void CodePainter::outlines() {
  if (!pane_.selection_) return;
  const auto blocks = merged([&](const CodeSpan& span) -> std::optional<int> {
    const Emphasis mark = pane_.selection_->mark(span.id);
    const bool hovered = pane_.selection_->isHovered(span.id);
    if (mark == Emphasis::None && !hovered) return {};
    return (static_cast<int>(mark) * 2 + hovered) * 1000 + span.letter;
  });
  for (const CodeSpan& span : blocks) {
    Emphasis mark = pane_.selection_->mark(span.id);
    bool hovered = pane_.selection_->isHovered(span.id);
    QRectF box = blockOf(span);
    if (!box.isEmpty()) drawMark(p_, box, mark, hovered, 2);
  }
}

}  // namespace vitrine::kit
