// Read-only code as every code view shows it: line numbers, marks, link letters, folds, text with linked
// colours, the three highlights on spans, and remarks as pills at the right. Painted directly; 20,000 lines
// are no trouble.
#pragma once

#include <QAbstractScrollArea>
#include <QString>
#include <vector>

#include "views/kit/code/highlight.h"
#include "views/kit/selection/selection.h"

namespace vitrine::kit {

// A piece of the text that is a thing of the session. Lines and columns count from 0, in characters; the end
// is exclusive. Whole lines: col 0, end_col -1.
struct CodeSpan {
  Id id = 0;
  int line = 0, col = 0, end_line = 0, end_col = -1;
  int letter = -1;     // link colour, -1 = none
  bool quiet = false;  // it leads to little: what is around it and leads further has its clicks
};

struct CodeMark {  // in the mark column
  int line = 0;
  QString icon;
  Tone tone = Tone::None;
  QString tooltip;
  Id id = 0;
};

struct CodeRemark {
  int line = 0;
  QString icon;
  Tone tone = Tone::None;
  QString text;
};

// What part of the whole a line has (of the samples that were taken), in a column before the text.
struct CodeShare {
  int line = 0;
  double part = 0;  // of the whole, 0 to 1
  QString text;     // a word behind the number
  QString tooltip;
};

struct CodeFold {  // lines [from, to] folded to one box at first
  int from = 0, to = 0;
  QString title;
};

struct CodeText {
  QString text;
  Language language = Language::Plain;
  int first_number = 1;
  std::vector<CodeSpan> spans;
  std::vector<CodeMark> marks;
  std::vector<CodeRemark> remarks;
  std::vector<CodeFold> folds;
  std::vector<CodeShare> shares;  // none: the column is not there
};

// Columns of CPython are UTF-8 bytes; a pane counts characters.
int characterColumn(const QString& line, int utf8_bytes);

// Assembly stands in columns of eight, of which an instruction's first is half as wide; elsewhere a tab is an
// indent.
QString tabsExpanded(const QString& line, Language language);

class CodePane : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit CodePane(QWidget* parent = nullptr);

  void setText(CodeText text);                 // scrolls to the top when the text itself is another
  void setSpans(std::vector<CodeSpan> spans);  // other colours, same text
  void setMarks(const Selection* selection);   // by pointer: the view's own selection
  void setRunning(int line);                   // the line at which stepping stands; -1 = none
  int running() const { return running_; }
  void reveal(Id id);
  void scrollToLine(int line);  // as little as needed
  void startAtLine(int line);   // it stands at the top, under the line before it
  int find(const QString& text);
  void findNext(bool forward);
  void zoom(double factor);  // 0 = back to 12 px
  QString selectedText() const;
  int lineCount() const { return static_cast<int>(lines_.size()); }
  const std::vector<CodeShare>& shares() const { return text_.shares; }
  static int roomOfShareWords();  // pixels of what stands behind a share's number
  std::vector<Id> shown() const;
  std::vector<Thing> things() const;   // spans in sight, boxes in the coordinates of the parent widget
  int lineOf(Id id) const;             // first line of its first span, -1 = none
  int middleLine() const;              // of what is in sight, from 0; -1 without text
  Id idAt(const QPoint& point) const;  // innermost span under a point of the viewport, 0 = none

 Q_SIGNALS:
  void activate(vitrine::Id id);
  void toggle(vitrine::Id id);
  void hover(vitrine::Id id);
  void open(vitrine::Id id, bool other);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  struct Line {
    QString text;
    std::vector<Token> tokens;
  };
  struct Row {
    int line = 0;
    int fold = -1;  // index of a fold whose box stands here
  };
  friend class CodePainter;
  std::vector<double> relativeTicks() const;
  void layoutRows();
  void moveCursor(int by, bool extend);  // to the next span in reading order
  int rowOfLine(int line) const;
  double charWidth() const { return char_width_; }
  int rowHeight() const { return row_height_; }
  double textLeft() const;
  double sharesLeft() const;
  bool sharesHaveWords() const;  // behind their numbers

  CodeText text_;
  std::vector<Line> lines_;
  std::vector<Row> rows_;
  std::vector<bool> folded_;
  const Selection* selection_ = nullptr;
  struct Match {
    int line = 0, column = 0, length = 0;
  };
  std::vector<Match> matches_;
  size_t match_ = 0;
  int running_ = -1, longest_ = 0;
  double size_ = 12, char_width_ = 7;
  int row_height_ = 18;
};

}  // namespace vitrine::kit
