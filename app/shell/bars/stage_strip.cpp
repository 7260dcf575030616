#include "app/shell/bars/stage_strip.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "core/session/stages.h"
#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/session/run_times.h"
#include "views/kit/session/verdict.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"
#include "views/kit/text/shown.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::app {

using kit::theme;

namespace {

constexpr int kCountsFrom = 1500;  // narrower windows drop the counts
constexpr int kGroupsUnder = 1120;
const char* const kGroups[] = {"Capture", "ATen", "Compile", "Kernels", "Run"};

QString countText(const kit::SessionData& d, Id compilation, std::string_view stage, int64_t count) {
  if (stage == "memory") return kit::bytesText(static_cast<double>(count));
  if (stage == "timeline") {
    const auto* run = d.runs.find(d.runOf(compilation));
    return run ? s(kit::runTimes(d, run->id).speed_up.short_words()) : QString();
  }
  return QString::number(count);
}

}  // namespace

StageStrip::StageStrip(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setAccessibleName("Stages");
  setSession(nullptr, 0);
}

void StageStrip::setSession(const kit::SessionPtr& session, Id compilation) {
  cells_.clear();
  hovered_ = nullptr;
  has_session_ = session != nullptr;
  for (const session::StageInfo& info : session::kStages) {
    Cell cell;
    cell.stage = std::string(info.name);
    cell.title = s(session::stage_title(info, session && session->isGpu(compilation)));
    cell.note = s(info.about);
    if (session && session->compilations.find(compilation))
      cell.note += "\ncompilation " + kit::whichOf(*session, compilation);
    cell.group = info.group;
    if (session) {
      const session::StageRow* row = nullptr;
      for (const auto& each : session->stages.of(compilation))
        if (each.name == info.name) row = &each;
      const int64_t count = session->countOf(compilation, info.name);
      cell.there = count >= 0;
      cell.count = !cell.there                     ? kit::unknown()
                   : row && row->state == "failed" ? QStringLiteral("failed")
                                                   : countText(*session, compilation, info.name, count);
      if (!cell.there)
        cell.note +=
            QStringLiteral("\nnot in this run") + (row && !row->note.empty() ? ": " + s(row->note) : "");
      if (info.name == "captured" && compilation) {
        const session::Verdict verdict = kit::verdictOf(*session, session->runOf(compilation));
        cell.breaks = static_cast<int>(verdict.breaks);
        cell.note += "\n" + QString::fromStdString(verdict.frames());
      }
      if (info.name == "timeline" && compilation)
        cell.note +=
            "\n" + QString::fromStdString(kit::verdictOf(*session, session->runOf(compilation)).outputs());
    }
    cells_.push_back(std::move(cell));
  }
  place();
}

void StageStrip::setShown(const std::string& a, const std::string& b) {
  a_ = a;
  b_ = b;
  place();
}

void StageStrip::setProgress(const std::string& stage, double part) {
  progress_stage_ = stage;
  progress_ = part;
  update();
}

QString StageStrip::count(const std::string& stage) const {
  for (const Cell& cell : cells_)
    if (cell.stage == stage) return cell.count;
  return {};
}

QStringList StageStrip::words() const {
  QStringList out;
  for (const Cell& cell : cells_) {
    if (!cell.stands) continue;
    QString word = cell.closed ? QLatin1String(kGroups[cell.group]) : cell.title;
    if (cell.breaks && !cell.closed) word += QStringLiteral(" breaks %1").arg(cell.breaks);
    out << word;
  }
  return out;
}

std::string StageStrip::next(const std::string& stage, int by) const {
  int at = -1;
  const auto size = static_cast<int>(cells_.size());
  for (int i = 0; i < size; ++i)
    if (cells_[static_cast<size_t>(i)].stage == stage) at = i;
  for (int i = at + by; i >= 0 && i < size; i += by)
    if (cells_[static_cast<size_t>(i)].there) return cells_[static_cast<size_t>(i)].stage;
  return stage;
}

QSize StageStrip::sizeHint() const {
  return {theme().px(640), theme().px(36)};
}

int StageStrip::cellWidth(const Cell& cell, bool counts) const {
  if (!cell.stands) return 0;
  if (cell.closed) return kit::textWidth(theme().ui(12), QLatin1String(kGroups[cell.group])) + theme().px(36);
  int width = kit::textWidth(theme().ui(12, cell.stage == a_ ? 600 : 400), cell.title) + theme().px(20);
  if (counts && !cell.count.isEmpty()) width += kit::textWidth(theme().mono(11), cell.count) + theme().px(6);
  if (cell.stage == a_ || cell.stage == b_) width += theme().px(20);
  if (cell.breaks) width += theme().px(30);
  return width;
}

// When it is very narrow a group stands as its name, but for the one that pane A shows.
void StageStrip::closeGroups() {
  int open = 0;
  for (const Cell& cell : cells_)
    if (cell.stage == a_) open = cell.group;
  const bool narrow = width() > 0 && width() < theme().px(kGroupsUnder);
  int last = -1;
  for (Cell& cell : cells_) {
    cell.closed = narrow && cell.group != open;
    cell.stands = !cell.closed || cell.group != last;
    last = cell.group;
  }
}

// Counts go first when it is too narrow; then the cells share what there is.
void StageStrip::place() {
  closeGroups();
  auto widthOf = [this](bool counts) {
    int total = theme().px(8);
    for (size_t i = 0; i < cells_.size(); ++i)
      total +=
          cellWidth(cells_[i], counts) + (i && cells_[i].group != cells_[i - 1].group ? theme().px(13) : 0);
    return total;
  };
  // All of them or none: a number is never cut.
  counts_ = (window()->width() >= theme().px(kCountsFrom) || width() >= theme().px(kCountsFrom)) &&
            widthOf(true) <= width();
  const int total = widthOf(counts_);
  const double squeeze = total > width() && width() > 0 ? static_cast<double>(width()) / total : 1;
  double x = theme().px(6);
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (i && cells_[i].group != cells_[i - 1].group) x += theme().px(13) * squeeze;
    const double cell = cellWidth(cells_[i], counts_) * squeeze;
    cells_[i].box = QRect(static_cast<int>(x), 0, static_cast<int>(cell), height());
    x += cell;
  }
  update();
}

void StageStrip::paintCell(QPainter& painter, const Cell& cell) const {
  if (cell.closed) {
    const QRect box = cell.box.adjusted(theme().px(10), 0, 0, 0);
    const int used =
        kit::drawText(painter, box, QLatin1String(kGroups[cell.group]), theme().ui(12), theme().text2);
    kit::drawIcon(painter, "chevron-right",
                  QRect(box.x() + used + theme().px(4), (height() - theme().px(12)) / 2, theme().px(12),
                        theme().px(12)),
                  theme().text3);
    return;
  }
  const bool in_a = cell.stage == a_, in_b = cell.stage == b_ && !in_a;
  const bool live = cell.there || !has_session_;
  QRect box = cell.box.adjusted(theme().px(10), 0, -theme().px(6), 0);
  if (in_a || in_b) {
    const QColor colour = in_a ? theme().accent : theme().text2;
    const QRect letter(box.x(), (height() - theme().px(14)) / 2, theme().px(14), theme().px(14));
    kit::hairlineBox(painter, letter, in_a ? theme().accent : theme().ctl);
    kit::drawText(painter, letter, in_a ? "A" : "B", theme().mono(11), colour, Qt::AlignHCenter);
    painter.fillRect(QRect(cell.box.x() + theme().px(6), height() - theme().px(2),
                           cell.box.width() - theme().px(8), theme().px(2)),
                     in_a ? theme().accent : theme().ctl);
    box.setLeft(letter.right() + theme().px(7));
  }
  const QColor ink = in_a || in_b ? theme().text1
                     : live       ? (&cell == hovered_ ? theme().text1 : theme().text2)
                                  : theme().text3;
  const int used = kit::drawText(painter, box, cell.title, theme().ui(12, in_a ? 600 : 400), ink);
  box.setLeft(box.left() + used + theme().px(6));
  if (counts_) {
    const int number = kit::drawText(painter, box, cell.count, theme().mono(11), theme().text3);
    box.setLeft(box.left() + number + theme().px(6));
  }
  if (cell.breaks) {
    kit::drawIcon(painter, "scissors",
                  QRect(box.x(), (height() - theme().px(12)) / 2, theme().px(12), theme().px(12)),
                  theme().warn);
    box.setLeft(box.left() + theme().px(15));
    kit::drawText(painter, box, QString::number(cell.breaks), theme().mono(11), theme().warn);
  }
  if (cell.stage == progress_stage_) kit::drawProgress(painter, cell.box, progress_);
}

void StageStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg2);
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (i && cells_[i].group != cells_[i - 1].group) {
      const int x = (cells_[i - 1].box.right() + cells_[i].box.left()) / 2;
      kit::hairline(painter, QPointF(x, theme().px(11)), QPointF(x, height() - theme().px(11)), theme().line);
    }
    if (cells_[i].stands) paintCell(painter, cells_[i]);
  }
  kit::hairline(painter, QPointF(0, height() - 1), QPointF(width(), height() - 1), theme().line);
}

const StageStrip::Cell* StageStrip::at(QPoint point) const {
  for (const Cell& cell : cells_)
    if (cell.stands && cell.box.contains(point)) return &cell;
  return nullptr;
}

void StageStrip::mousePressEvent(QMouseEvent* event) {
  const Cell* cell = at(event->position().toPoint());
  if (cell && cell->closed) {  // opens the group at its first stage that is in this run
    for (const Cell& each : cells_)
      if (each.group == cell->group && each.there) return Q_EMIT chosen(std::string(each.stage), false);
    return;
  }
  if (!cell || !cell->there) return;
  const bool other = event->button() == Qt::MiddleButton || event->modifiers() & Qt::ControlModifier;
  Q_EMIT chosen(std::string(cell->stage), other);
}

void StageStrip::mouseMoveEvent(QMouseEvent* event) {
  hovered_ = at(event->position().toPoint());
  update();
}

void StageStrip::leaveEvent(QEvent*) {
  hovered_ = nullptr;
  update();
}

void StageStrip::resizeEvent(QResizeEvent*) {
  place();
}

bool StageStrip::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    if (const Cell* cell = at(help->pos()))
      QToolTip::showText(help->globalPos(), kit::tip(cell->title + ": " + cell->note), this);
    return true;
  }
  if (event->type() == QEvent::StyleChange) place();
  return QWidget::event(event);
}

}  // namespace vitrine::app
