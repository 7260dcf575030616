#include "views/kit/widgets/link_key.h"

#include <QPainter>

#include "views/kit/painting/paint.h"
#include "views/kit/painting/theme.h"
#include "views/kit/text/shown.h"

namespace vitrine::kit {

namespace {
QString letterText(int letter) {
  return QString(QChar('a' + letter % 26));
}
}  // namespace

LinkKey::LinkKey(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setProperty("elastic", true);
}

void LinkKey::setEntries(std::vector<LinkEntry> entries) {
  entries_ = std::move(entries);
  QStringList lines;
  for (const LinkEntry& entry : entries_)
    lines << letterText(entry.letter) + QStringLiteral("  ") + entry.text;
  setToolTip(tip(lines.join('\n')));
  setAccessibleName(lines.join(QStringLiteral(", ")));
  updateGeometry();
  update();
}

int LinkKey::widthOf(const LinkEntry& entry) const {
  return theme().px(22) + textWidth(theme().mono(11), entry.text) + theme().px(12);
}

QSize LinkKey::sizeHint() const {
  int width = 0;
  for (const LinkEntry& entry : entries_) width += widthOf(entry);
  return {width, theme().px(24)};
}

QSize LinkKey::minimumSizeHint() const {
  return {0, theme().px(24)};
}

void LinkKey::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme();
  const int chip = t.px(16), gap = t.px(4);
  // Without room for all words the last are letters only, and then these are counted.
  size_t named = entries_.size(), shown = entries_.size();
  auto more = [&] {
    return shown < entries_.size() ? QStringLiteral("+%1").arg(entries_.size() - shown) : QString();
  };
  auto needed = [&] {
    int width = shown < entries_.size() ? textWidth(t.mono(11), more()) + gap : 0;
    for (size_t i = 0; i < shown; ++i) width += i < named ? widthOf(entries_[i]) : chip + gap;
    return width;
  };
  while (named > 0 && needed() > width()) --named;
  while (shown > 0 && needed() > width()) --shown;
  if (shown == 0) return;
  int x = width() - needed();
  for (size_t i = 0; i < shown; ++i) {
    const QRect box(x, (height() - chip) / 2, chip, chip);
    painter.fillRect(box, t.link(entries_[i].letter));
    drawText(painter, box, letterText(entries_[i].letter), t.mono(11, 600), t.text1, Qt::AlignHCenter);
    if (i < named)
      drawText(painter, QRect(x + t.px(22), 0, textWidth(t.mono(11), entries_[i].text) + 1, height()),
               entries_[i].text, t.mono(11), t.text2);
    x += i < named ? widthOf(entries_[i]) : chip + gap;
  }
  drawText(painter, QRect(x, 0, width() - x, height()), more(), t.mono(11), t.text3);
}

}  // namespace vitrine::kit
