#include "views/inspector/inspector_view.h"

#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QVBoxLayout>

#include "views/inspector/inspect_pair.h"
#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/shown.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::views {

using kit::theme;

namespace {
constexpr int kTitle = 44, kSection = 26, kRow = 24, kKey = 84, kPad = 12, kBelow = 16;
constexpr int kUp = 4;  // what stands below a line, nearer to it than a line of its own

QRect wrappedBox(const QFont& font, const QString& text, int width) {
  return QFontMetrics(font).boundingRect(QRect(0, 0, width, 4000), Qt::TextWordWrap, kit::wrappable(text));
}

// Of words in lines, with the room that a single one has above and below it.
int wrappedHeight(const QFont& font, const QString& text, int width) {
  const int line = QFontMetrics(font).height();
  return wrappedBox(font, text, width).height() + theme().px(kRow) - line;
}

void drawWrapped(QPainter& painter, QPoint at, int width, const QFont& font, const QString& text,
                 const QColor& ink) {
  const int above = (theme().px(kRow) - QFontMetrics(font).height()) / 2;
  painter.setFont(font);
  painter.setPen(ink);
  painter.drawText(QRect(at + QPoint(0, above), QSize(width, wrappedBox(font, text, width).height())),
                   Qt::TextWordWrap, kit::wrappable(text));
}

}  // namespace

void InspectorSheet::set(InspectorContent content, const kit::Selection* marks) {
  content_ = std::move(content);
  marks_ = marks;
  setMouseTracking(true);
  update();
}

int InspectorSheet::heightFor(int width) const {
  return lay(nullptr, width);
}

void InspectorSheet::layTitle(QPainter& painter, int width) const {
  QRect box(theme().px(kPad), 0, width - 2 * theme().px(kPad), theme().px(kTitle));
  const QRect glyph(box.x(), (box.height() - theme().icon()) / 2, theme().icon(), theme().icon());
  if (content_.family != kit::NodeFamily::None)
    kit::drawFamily(painter, content_.family, glyph);
  else
    kit::drawIcon(painter, content_.icon, glyph, theme().text2);
  const int kind = kit::textWidth(theme().ui(12), content_.kind);
  kit::drawText(painter, box, content_.kind, theme().ui(12), theme().text2, Qt::AlignRight);
  box.adjust(theme().px(26), 0, -kind - theme().px(10), 0);
  const int used = kit::drawText(painter, box, content_.title, theme().mono(13, 600), theme().text1,
                                 Qt::AlignLeft, kit::Elide::Middle);
  box.setLeft(box.left() + used + theme().px(10));
  if (box.width() > theme().px(30))
    kit::drawText(painter, box, content_.subtitle, theme().mono(11), theme().text2);
}

int InspectorSheet::lay(QPainter* painter, int width) const {
  if (painter) hits_.clear();
  if (content_.title.isEmpty()) {
    InspectorRow empty;
    empty.prose = true;
    empty.value = QStringLiteral("Nothing is active. Click anything to see all of it here.");
    return theme().px(6) + layRow(painter, empty, theme().px(6), width);
  }
  if (painter) layTitle(*painter, width);
  int y = theme().px(kTitle);
  for (const InspectorSection& section : content_.sections) {
    if (painter) {
      kit::hairline(*painter, QPointF(0, y), QPointF(width, y), theme().line);
      kit::drawText(*painter, QRect(theme().px(kPad), y + theme().px(6), width, theme().px(kSection - 4)),
                    section.title, theme().ui(11, 600), theme().text2);
    }
    y += theme().px(kSection + 4);
    for (const InspectorRow& row : section.rows) y += layRow(painter, row, y, width);
    y += theme().px(8);
  }
  return y;
}

int InspectorSheet::layRow(QPainter* painter, const InspectorRow& row, int y, int width) const {
  const int pad = theme().px(kPad);
  QRect box(pad, y, width - 2 * pad, theme().px(kRow));
  const QColor ink = row.tone == kit::Tone::None ? theme().text1 : theme().tone(row.tone);
  if (row.prose) {
    const int left = row.icon.isEmpty() ? 0 : theme().px(24);
    const QRect room(pad + left, y + theme().px(3), width - 2 * pad - left, 4000);
    const QRect text =
        QFontMetrics(theme().ui(12)).boundingRect(room, Qt::TextWordWrap, kit::wrappable(row.value));
    const int height = std::max(theme().px(kRow), text.height() + theme().px(8));
    if (painter) {
      kit::drawIcon(*painter, row.icon, QRect(pad, y + theme().px(4), theme().px(14), theme().px(14)),
                    row.tone == kit::Tone::None ? theme().text2 : ink);
      painter->setFont(theme().ui(12));
      painter->setPen(theme().text1);
      painter->drawText(room, Qt::TextWordWrap, kit::wrappable(row.value));
      if (row.id) hits_.emplace_back(QRect(0, y, width, height), row.id);
    }
    return height;
  }
  if (row.icon.isEmpty()) return layFact(painter, row, y, width);
  const int height = box.height() + (row.below.isEmpty() ? 0 : theme().px(kBelow));
  if (!painter) return height;
  if (row.id) layLink(*painter, row.id, QRect(0, y, width, height));
  const QRect glyph(pad, y + theme().px(5), theme().px(14), theme().px(14));
  if (row.family != kit::NodeFamily::None)
    kit::drawFamily(*painter, row.family, glyph);
  else
    kit::drawIcon(*painter, row.icon, glyph, row.tone == kit::Tone::None ? theme().text2 : ink);
  const int note = kit::textWidth(theme().mono(11), row.note);
  kit::drawText(*painter, box, row.note, theme().mono(11), theme().text2, Qt::AlignRight);
  kit::drawText(*painter, box.adjusted(theme().px(24), 0, -note - theme().px(8), 0), row.value,
                theme().mono(12), theme().text1, Qt::AlignLeft, kit::Elide::Middle);
  if (!row.below.isEmpty())
    kit::drawText(*painter,
                  QRect(pad + theme().px(24), box.bottom() - theme().px(3), box.width() - theme().px(24),
                        theme().px(kBelow)),
                  row.below, theme().mono(11), theme().text3, Qt::AlignLeft, kit::Elide::End);
  return height;
}

// What is clicked goes to the thing; under the pointer it has the ground of one.
void InspectorSheet::layLink(QPainter& painter, Id id, const QRect& box) const {
  hits_.emplace_back(box, id);
  if (marks_ && marks_->hover == id) painter.fillRect(box, theme().hov);
}

// A key, its value, and what is said of it beside it. Words that find no room there go on below; a name is
// cut.
int InspectorSheet::layFact(QPainter* painter, const InspectorRow& row, int y, int width) const {
  const int pad = theme().px(kPad), key = theme().px(kKey), line = theme().px(kRow);
  const QFont font = theme().mono(12), small = theme().mono(11);
  const QRect room(pad + key, y, width - 2 * pad - key, line);
  const int used = kit::textWidth(font, row.value);
  const bool wraps = used > room.width() && row.value.contains(QLatin1Char(' '));
  const int tall = wraps ? wrappedHeight(font, row.value, room.width()) : line;
  const QRect beside = room.adjusted(std::min(used, room.width()) + theme().px(8), 0, 0, 0);
  const bool below = !row.note.isEmpty() && (wraps || kit::textWidth(small, row.note) > beside.width());
  const int more = below ? wrappedHeight(small, row.note, room.width()) - theme().px(kUp) : 0;
  if (!painter) return tall + more;
  if (row.id) layLink(*painter, row.id, QRect(0, y, width, tall + more));
  kit::drawText(*painter, QRect(pad, y, key - theme().px(6), line), row.key, theme().ui(12), theme().text2);
  const QColor ink = row.tone == kit::Tone::None ? theme().text1 : theme().tone(row.tone);
  if (wraps)
    drawWrapped(*painter, room.topLeft(), room.width(), font, row.value, ink);
  else
    kit::drawText(*painter, room, row.value, font, ink, Qt::AlignLeft, kit::Elide::Middle);
  if (below)
    drawWrapped(*painter, room.topLeft() + QPoint(0, tall - theme().px(kUp)), room.width(), small, row.note,
                theme().text2);
  else
    kit::drawText(*painter, beside, row.note, small, theme().text2);
  return tall + more;
}

void InspectorSheet::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg1);
  lay(&painter, width());
}

Id InspectorSheet::at(QPoint point) const {
  for (const auto& [box, id] : hits_)
    if (box.contains(point)) return id;
  return 0;
}

void InspectorSheet::mousePressEvent(QMouseEvent* event) {
  if (const Id id = at(event->position().toPoint())) Q_EMIT activate(id);
}

void InspectorSheet::mouseMoveEvent(QMouseEvent* event) {
  const Id id = at(event->position().toPoint());
  setCursor(id ? Qt::PointingHandCursor : Qt::ArrowCursor);
  Q_EMIT hover(id);
}

void InspectorSheet::leaveEvent(QEvent*) {
  Q_EMIT hover(0);
}

InspectorView::InspectorView(kit::Jobs* jobs, QWidget* parent)
    : View(jobs, parent), scroll_(new QScrollArea(this)), sheet_(new InspectorSheet) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(scroll_);
  scroll_->setWidget(sheet_);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  connect(sheet_, &InspectorSheet::activate, this, &View::activate);
  connect(sheet_, &InspectorSheet::hover, this, &View::hover);
}

QList<QWidget*> InspectorView::headerControls() {
  pin_ = kit::iconButton(QStringLiteral("pin"), QStringLiteral("Keep what is shown (I)"), this);
  pin_->setCheckable(true);
  pin_->setChecked(pinned());
  connect(pin_, &QToolButton::clicked, this, &InspectorView::pin);
  return {pin_};
}

bool InspectorView::act(std::string_view command) {
  if (command != "view.pin") return false;
  pin(!pinned());
  return true;
}

void InspectorView::pin(bool on) {
  pinned_ = on ? std::optional(selection()) : std::nullopt;
  if (pin_) pin_->setChecked(on);
  refresh();
}

// Ids of another session are other things.
void InspectorView::sessionChanged() {
  const std::string path = session() ? session()->path : std::string();
  if (std::exchange(path_, path) != path) {
    pair_of_.clear();
    pair_ = {};
    if (pinned_) return pin(false);
  }
  refresh();
}

void InspectorView::selectionChanged(kit::ChangeMask mask) {
  const bool other =
      (mask & kit::ChangeFilm) && !selection().active;  // what is shown of the run follows the film
  if (other || mask & (kit::ChangeActive | kit::ChangeRelatives | kit::ChangeSelected)) refresh();
  if (mask & kit::ChangeHover) sheet_->update();
}

void InspectorView::refresh() {
  askPair();
  sheet_->set(content(), &selection());
  fit();
}

// What of two selected things is known comes first: it was asked for.
InspectorContent InspectorView::content() const {
  if (!session()) return {};
  InspectorContent out = inspect(*session(), subject());
  if (!pair_.rows.empty()) out.sections.insert(out.sections.begin(), pair_);
  return out;
}

void InspectorView::askPair() {
  const std::vector<Id> of = session() && isPair(subject()) ? subject().selected : std::vector<Id>();
  if (of == pair_of_) return;
  pair_of_ = of;
  pair_ = {};
  if (of.empty()) return;
  jobs()->run<InspectorSection>(
      this, "pair", [data = session(), of](const kit::Cancel&) { return inspectPair(*data, of[0], of[1]); },
      [this, of](const InspectorSection& found) {
        if (of != pair_of_) return;
        pair_ = found;
        refresh();
      });
}

void InspectorView::fit() {
  int width = scroll_->width();
  if (sheet_->heightFor(width) > scroll_->height())  // a scroll bar stands beside it
    width -= scroll_->verticalScrollBar()->sizeHint().width();
  sheet_->resize(width, std::max(sheet_->heightFor(width), scroll_->height()));
}

void InspectorView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  fit();
}

QString InspectorView::copy(kit::CopyAs) const {
  if (!session()) return {};
  const InspectorContent content = this->content();
  QStringList lines{content.title + " " + content.subtitle};
  for (const InspectorSection& section : content.sections) {
    lines << section.title;
    for (const InspectorRow& row : section.rows)
      lines << QStringList{"  " + row.key, row.value, row.below, row.note}.join(' ').simplified();
  }
  return lines.join('\n');
}

}  // namespace vitrine::views
