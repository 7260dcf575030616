#include "views/capture/row_pane.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "views/kit/painting/paint.h"
#include "views/kit/text/find_pattern.h"
#include "views/kit/text/shown.h"

namespace vitrine::views {

using namespace kit;

RowPane::RowPane(QWidget* parent) : QAbstractScrollArea(parent), tops_{0} {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
}

void RowPane::setRows(std::vector<Row> rows, Paint paint) {
  rows_ = std::move(rows);
  paint_ = std::move(paint);
  tops_.assign(1, 0);
  for (const Row& row : rows_) tops_.push_back(tops_.back() + row.height);
  matches_.clear();
  cursor_ = std::min(cursor_, static_cast<int>(rows_.size()) - 1);
  fitScroll();
  viewport()->update();
}

void RowPane::fitScroll() {
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(theme().codeRow());
  verticalScrollBar()->setRange(0, std::max(0, tops_.back() + theme().px(8) - viewport()->height()));
}

Emphasis RowPane::markOf(int row) const {
  Emphasis best = Emphasis::None;
  if (!marks_ || row < 0) return best;
  for (Id id : rows_[size_t(row)].ids) {
    const Emphasis mark = marks_->mark(id);
    if (mark == Emphasis::Ring) return mark;
    if (mark == Emphasis::Outline) best = mark;
  }
  return best;
}

QRect RowPane::boxOf(int row) const {
  return {0, tops_[size_t(row)] - verticalScrollBar()->value(), viewport()->width(),
          rows_[size_t(row)].height};
}

int RowPane::rowAt(int y) const {
  const int at = y + verticalScrollBar()->value();
  if (at < 0 || at >= tops_.back()) return -1;
  return static_cast<int>(std::upper_bound(tops_.begin(), tops_.end(), at) - tops_.begin()) - 1;
}

std::vector<kit::Thing> RowPane::things() const {
  std::vector<kit::Thing> out;
  for (int row = std::max(0, rowAt(0)); row < static_cast<int>(rows_.size()); ++row) {
    const QRect box = boxOf(row);
    if (box.top() > viewport()->height()) break;
    if (idOf(row)) out.push_back({idOf(row), box.translated(viewport()->mapToParent(QPoint()) + pos())});
  }
  return out;
}

int RowPane::rowOf(Id id) const {
  for (size_t i = 0; id && i < rows_.size(); ++i)
    if (std::find(rows_[i].ids.begin(), rows_[i].ids.end(), id) != rows_[i].ids.end())
      return static_cast<int>(i);
  return -1;
}

void RowPane::revealRow(int row) {
  if (row < 0 || row >= static_cast<int>(rows_.size())) return;
  const QRect box = boxOf(row);
  if (box.top() >= 0 && box.bottom() < viewport()->height()) return;
  verticalScrollBar()->setValue(tops_[size_t(row)] - viewport()->height() / 2);
}

int RowPane::find(const QString& text) {
  matches_.clear();
  match_ = 0;
  const QRegularExpression pattern = findPattern(text);
  for (size_t i = 0; i < rows_.size() && !text.isEmpty() && pattern.isValid(); ++i)
    if (rows_[i].words.contains(pattern)) matches_.push_back(static_cast<int>(i));
  if (!matches_.empty()) revealRow(matches_.front());
  viewport()->update();
  return static_cast<int>(matches_.size());
}

void RowPane::findNext(bool forward) {
  if (matches_.empty()) return;
  match_ = (match_ + (forward ? 1 : matches_.size() - 1)) % matches_.size();
  revealRow(matches_[match_]);
  Q_EMIT clicked(matches_[match_], -1);
}

void RowPane::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), theme().bg1);
  painted_ = 0;
  const int first = rowAt(0);
  for (int row = std::max(0, first); row < static_cast<int>(rows_.size()); ++row) {
    const QRect box = boxOf(row);
    if (box.top() > viewport()->height()) break;
    ++painted_;
    const auto& ids = rows_[size_t(row)].ids;
    const bool hover =
        marks_ && std::any_of(ids.begin(), ids.end(), [&](Id id) { return marks_->isHovered(id); });
    const bool match = std::find(matches_.begin(), matches_.end(), row) != matches_.end();
    if (!ids.empty()) drawRowGround(painter, box, markOf(row), hover);
    paint_(painter, row, box);
    if (match || (hover && markOf(row) == Emphasis::None) || (hasFocus() && row == cursor_))
      dashedBox(painter, box.adjusted(0, 0, -1, -1), theme().text2);
  }
}

void RowPane::resizeEvent(QResizeEvent*) {
  fitScroll();
}

void RowPane::mousePressEvent(QMouseEvent* event) {
  const int row = rowAt(event->pos().y());
  if (!idOf(row)) return;
  cursor_ = row;
  if (event->button() == Qt::MiddleButton)
    Q_EMIT opened(row, true);
  else if (event->button() == Qt::LeftButton && event->modifiers() & Qt::ControlModifier)
    Q_EMIT toggled(row);
  else if (event->button() == Qt::LeftButton)
    Q_EMIT clicked(row, event->pos().x());
}

void RowPane::mouseDoubleClickEvent(QMouseEvent* event) {
  const int row = rowAt(event->pos().y());
  if (idOf(row)) Q_EMIT opened(row, false);
}

void RowPane::mouseMoveEvent(QMouseEvent* event) {
  Q_EMIT hovered(idOf(rowAt(event->pos().y())));
}

void RowPane::leaveEvent(QEvent*) {
  Q_EMIT hovered(0);
}

void RowPane::moveCursor(int by) {
  int row = cursor_;
  if (row < 0 && marks_) row = rowOf(marks_->active) - by;
  for (row += by; row >= 0 && row < static_cast<int>(rows_.size()) && !idOf(row);) row += by;
  if (row < 0 || row >= static_cast<int>(rows_.size())) return;
  cursor_ = row;
  revealRow(row);
  Q_EMIT hovered(idOf(row));
  viewport()->update();
}

void RowPane::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
      moveCursor(event->key() == Qt::Key_Up ? -1 : 1);
      if (event->modifiers() & Qt::ShiftModifier && !(marks_ && marks_->isSelected(idOf(cursor_))))
        Q_EMIT toggled(cursor_);
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (cursor_ < 0 || !idOf(cursor_)) return;
      if (event->modifiers() & Qt::ControlModifier) {
        Q_EMIT opened(cursor_, true);
      } else if (marks_ && marks_->active == idOf(cursor_)) {
        Q_EMIT opened(cursor_, false);
      } else {
        Q_EMIT clicked(cursor_, -1);
      }
      return;
    default:
      event->ignore();  // single letters are the shell's commands
  }
}

bool RowPane::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const int row = rowAt(help->pos().y());
  if (row < 0 || rows_[size_t(row)].tooltip.isEmpty())
    QToolTip::hideText();
  else
    QToolTip::showText(help->globalPos(), kit::tip(rows_[size_t(row)].tooltip), this);
  return true;
}

}  // namespace vitrine::views
