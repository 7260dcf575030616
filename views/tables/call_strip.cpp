#include "views/tables/call_strip.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <map>

#include "views/kit/painting/paint.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/shown.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {
constexpr int kHeight = 78, kBase = 46, kCell = 12, kTall = 30;  // logical pixels
constexpr double kGapFrom = 4, kWidest = 64;                     // cells from 4 px on have a gap between them
}  // namespace

QString CallStrip::Block::words() const {
  const QString kept = all ? QString() : QStringLiteral("kept ");
  return kept + (to - from == 1 ? QStringLiteral("call %1").arg(from + 1)
                                : QStringLiteral("calls %1–%2").arg(from + 1).arg(to));
}

CallStrip::CallStrip(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
}

void CallStrip::setScope(const SessionData* data, Id run, Id compilation) {
  data_ = data;
  shown_ = compilation;
  calls_.clear();
  blocks_.clear();
  if (!data) return;
  auto segment_of = [&](Id id) {
    const CompilationRow* c = data->compilations.find(id);
    return c ? c->segment : Id(0);
  };
  auto take = [&](Id segment) {
    // A backward graph is called as often as its forward one: it is no other compilation of the place.
    for (const CallRow& call : data->calls.of(run))
      if (segment && segment_of(call.compilation) == segment &&
          data->forwardOf(call.compilation) == call.compilation)
        calls_.push_back(&call);
  };
  take(segment_of(compilation));
  for (const CallRow& call : data->calls.of(run)) {
    if (!calls_.empty()) break;
    take(segment_of(call.compilation));
  }
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Id of = calls_[i]->compilation;
    if (blocks_.empty() || blocks_.back().compilation != of) {
      const CompilationRow* c = data->compilations.find(of);
      blocks_.push_back({of, i, i, c ? QString::fromStdString(c->label) : unknown()});
    }
    blocks_.back().to = i + 1;
  }
  // Of each compilation the first calls are kept.
  std::map<Id, int64_t> kept;
  for (const CallRow* call : calls_) ++kept[call->compilation];
  const bool all = std::all_of(kept.begin(), kept.end(), [&](const auto& each) {
    const CompilationRow* c = data->compilations.find(each.first);
    return !c || c->calls <= each.second;
  });
  for (Block& block : blocks_) block.all = all;
  setVisible(!calls_.empty());
  update();
}

QSize CallStrip::sizeHint() const {
  return {theme().px(200), theme().px(kHeight)};
}

double CallStrip::cellWidth() const {
  const double room = width() - 2 * theme().padding();
  return calls_.empty() ? 0
                        : std::min(room / static_cast<double>(calls_.size()), double(theme().px(kWidest)));
}

QRectF CallStrip::cellOf(size_t call) const {
  const Theme& t = theme();
  const double width = cellWidth(), gap = width >= kGapFrom ? 1 : 0;
  const bool compiled = calls_[call]->kind == "compile";
  const int height = t.px(compiled ? kTall : kCell);
  return {t.padding() + width * static_cast<double>(call), double(t.px(kBase) - height),
          std::max(compiled ? 2.0 : 0.0, width - gap), double(height)};
}

size_t CallStrip::callAt(int x) const {
  const double width = cellWidth();
  if (width <= 0 || x < theme().padding()) return calls_.size();
  return std::min(static_cast<size_t>((x - theme().padding()) / width), calls_.size());
}

QColor CallStrip::colourOf(const Block& block) const {
  const Theme& t = theme();
  if (block.compilation == shown_) return t.accent;
  // Neighbours differ in lightness.
  const size_t index = static_cast<size_t>(&block - blocks_.data());
  return index % 2 ? t.hullLine : t.ctl;
}

void CallStrip::paintBlock(QPainter& painter, const Block& block) const {
  const Theme& t = theme();
  const QColor colour = colourOf(block), soft = Theme::mix(t.bg1, colour, 0.7);
  const QRectF first = cellOf(block.from), last = cellOf(block.to - 1);
  if (cellWidth() < kGapFrom) {
    painter.fillRect(
        QRectF(first.left(), t.px(kBase) - t.px(kCell), last.right() - first.left(), t.px(kCell)), soft);
  }
  for (size_t i = block.from; i < block.to; ++i) {
    const bool compiled = calls_[i]->kind == "compile";
    if (cellWidth() < kGapFrom && !compiled) continue;
    if (calls_[i]->kind == "eager")
      hairlineBox(painter, cellOf(i), colour);
    else
      painter.fillRect(cellOf(i), compiled ? colour : soft);
  }
  const QRectF under(first.left(), t.px(kBase + 4), std::max(2.0, last.right() - first.left()), t.px(2));
  const bool here = block.compilation == shown_;
  painter.fillRect(under, here ? t.text1 : t.nodeLine);
  if (marks_ && marks_->isHovered(block.compilation))
    dashedBox(
        painter,
        QRectF(first.left() - 2, t.px(kBase - kTall - 2), last.right() - first.left() + 4, t.px(kTall + 4)),
        t.text2);
  const int room = static_cast<int>(under.width()) - t.px(6);
  QRect label(static_cast<int>(under.left()), t.px(kBase + 8), room, t.px(18));
  if (room < textWidth(t.mono(11), block.label)) return;
  const int used =
      drawText(painter, label, block.label, t.mono(11, here ? 600 : 400), here ? t.text1 : t.text2);
  label.setLeft(label.left() + used + t.px(6));
  if (textWidth(t.ui(11), block.words()) <= label.width())
    drawText(painter, label, block.words(), t.ui(11), t.text2);
  const CompilationRow* c = data_->compilations.find(block.compilation);
  if (c && calls_[block.from]->kind == "compile" && c->duration_ns > 0) {
    const QString text = timeText(static_cast<double>(c->duration_ns));
    const int beside = static_cast<int>(last.right() - first.right()) - t.px(5);  // over the other calls
    const QRect time(static_cast<int>(first.right()) + t.px(5), t.px(kBase - kTall), beside, t.px(16));
    if (textWidth(t.mono(11), text) <= beside) drawText(painter, time, text, t.mono(11), t.text2);
  }
}

void CallStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg1);
  for (const Block& block : blocks_) paintBlock(painter, block);
  hairline(painter, QPointF(0, height() - 1), QPointF(width(), height() - 1), theme().line);
}

void CallStrip::mousePressEvent(QMouseEvent* event) {
  const size_t call = callAt(event->pos().x());
  if (event->button() == Qt::LeftButton && call < calls_.size()) Q_EMIT activate(calls_[call]->compilation);
}

void CallStrip::mouseMoveEvent(QMouseEvent* event) {
  const size_t call = callAt(event->pos().x());
  Q_EMIT hover(call < calls_.size() ? calls_[call]->compilation : 0);
}

void CallStrip::leaveEvent(QEvent*) {
  Q_EMIT hover(0);
}

bool CallStrip::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const size_t call = callAt(help->pos().x());
  if (call >= calls_.size()) {
    QToolTip::hideText();
    return true;
  }
  const CallRow& row = *calls_[call];
  const CompilationRow* c = data_->compilations.find(row.compilation);
  const QString how = row.kind == "compile" ? QStringLiteral("compiled")
                      : row.kind == "eager" ? QStringLiteral("ran eagerly in")
                                            : QStringLiteral("served by");
  QToolTip::showText(
      help->globalPos(),
      kit::tip(QStringLiteral("%1call %2 %3 %4%5")
                   .arg(blocks_.front().all ? QString() : QStringLiteral("kept "))
                   .arg(call + 1)
                   .arg(how, c ? QString::fromStdString(c->label) : unknown(),
                        row.duration_ns > 0 ? QStringLiteral(", ") + timeText(double(row.duration_ns))
                                            : QString())),
      this);
  return true;
}

}  // namespace vitrine::views
