#include "views/kit/tables/item_delegate.h"

#include <QAbstractTextDocumentLayout>
#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <cmath>

#include "views/kit/painting/facts.h"
#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/tables/item_view.h"
#include "views/kit/text/shown.h"

namespace vitrine::kit {

namespace {

const Column* columnOf(const ItemView* view, const QModelIndex& index) {
  const auto& columns = const_cast<ItemView*>(view)->items()->columns();
  return index.column() < static_cast<int>(columns.size()) ? &columns[static_cast<size_t>(index.column())]
                                                           : nullptr;
}

void drawBar(QPainter& painter, const QRect& box, double part, bool hollow) {
  const int width = std::max(1, static_cast<int>(box.width() * std::clamp(part, 0.0, 1.0)));
  const QRect bar(box.x(), box.y() + (box.height() - theme().px(8)) / 2, width, theme().px(8));
  if (hollow) {
    painter.fillRect(bar, theme().bg3);
    hairlineBox(painter, bar, theme().ctl);
  } else {
    painter.fillRect(bar, theme().ctl);
  }
}

// Of each class as high as the logarithm of its count. The first class, where nothing differs, is quiet.
void drawHistogram(QPainter& painter, const QRect& box, const std::vector<double>& counts) {
  double most = 0;
  for (const double count : counts) most = std::max(most, std::log1p(count));
  if (most <= 0 || counts.empty()) return;
  const int gap = theme().px(1), high = theme().px(14);
  const int width = std::max(1, std::min(theme().px(7), box.width() / static_cast<int>(counts.size()) - gap));
  const int bottom = box.y() + (box.height() + high) / 2;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int left = box.x() + static_cast<int>(i) * (width + gap);
    painter.fillRect(left, bottom - 1, width, 1, theme().line);
    if (counts[i] <= 0) continue;
    const int height = std::max(theme().px(2), static_cast<int>(high * std::log1p(counts[i]) / most));
    painter.fillRect(left, bottom - height, width, height, i == 0 ? theme().ctl : theme().accent);
  }
}

}  // namespace

namespace {
// In a list none of which opens, an icon stands where a chevron would.
bool amongLeaves(const QModelIndex& index) {
  const QModelIndex parent = index.parent();
  if (!parent.isValid() || parent.data(DetailRole).isValid()) return false;
  for (int row = 0; row < index.model()->rowCount(parent); ++row)
    if (index.model()->hasChildren(index.model()->index(row, 0, parent))) return false;
  return true;
}

// A title of a group, or a text that is longer than its column, goes on over those in which its row says
// nothing.
int rightOfTitle(const ItemView* view, const QModelIndex& index, int right) {
  for (int next = index.column() + 1; next < index.model()->columnCount(index.parent()); ++next) {
    const Cell* beside = index.siblingAtColumn(next).data(CellRole).value<const Cell*>();
    if (beside && (!beside->text.isEmpty() || hasGlyph(*beside) || beside->bar >= 0)) break;
    right += view->columnWidth(next);
  }
  return right;
}

// Code is written as it is: "==" is not joined to one sign.
void plainCode(QTextDocument& document) {
  std::vector<std::pair<int, int>> code;  // from, to: setting a format makes other fragments
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
    for (auto it = block.begin(); !it.atEnd(); ++it) {
      const QTextFragment part = it.fragment();
      if (part.charFormat().fontFamilies().toStringList().contains(QStringLiteral("JetBrains Mono")))
        code.emplace_back(part.position(), part.position() + part.length());
    }
  QTextCursor cursor(&document);
  QTextCharFormat plain;
  plain.setFontStyleStrategy(QFont::PreferNoShaping);
  for (const auto& [from, to] : code) {
    cursor.setPosition(from);
    cursor.setPosition(to, QTextCursor::KeepAnchor);
    cursor.mergeCharFormat(plain);
  }
}
}  // namespace

void layoutRichText(QTextDocument& document, const QString& html, int width) {
  document.setDefaultFont(theme().ui(12));
  document.setDocumentMargin(0);
  document.setDefaultStyleSheet(
      QStringLiteral(
          "body{color:%1} code,pre{font-family:'JetBrains Mono';color:%2} a{color:%3;text-decoration:none}"
          " .q{color:%4} td{padding-right:%5px;padding-bottom:3px}")
          .arg(theme().text2.name(), theme().text1.name(), theme().accent.name(), theme().text3.name())
          .arg(theme().px(12)));
  document.setHtml(QStringLiteral("<body>%1</body>").arg(unitsKept(shown(html, true))));
  document.setTextWidth(width);
  plainCode(document);
}

ItemDelegate::ItemDelegate(ItemView* view) : QStyledItemDelegate(view), view_(view) {}

int ItemDelegate::detailWidth() const {
  return std::max(theme().px(120), view_->viewport()->width() - theme().px(44));
}

void ItemDelegate::paintDetail(QPainter* painter, const QRect& box, const QString& html) const {
  QTextDocument document;
  layoutRichText(document, html, detailWidth());
  painter->save();
  painter->translate(theme().px(34), box.y() + theme().px(4));
  QAbstractTextDocumentLayout::PaintContext context;
  context.palette.setColor(QPalette::Text, theme().text2);
  document.documentLayout()->draw(painter, context);
  painter->restore();
}

// Where a cell's text stands, and its column's title: what touches the edge of a pane is hard to read.
QRect textBox(const QRect& cell, int column, int columns) {
  return cell.adjusted(theme().px(column ? 6 : 10), 0, -theme().px(column + 1 == columns ? 8 : 6), 0);
}

void ItemDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  if (const QVariant html = index.data(DetailRole); html.isValid())
    return paintDetail(painter, option.rect, html.toString());
  const Cell* cell = index.data(CellRole).value<const Cell*>();
  const Column* column = columnOf(view_, index);
  if (!cell || !column) return;
  QRect box = textBox(option.rect, index.column(), view_->model()->columnCount());
  if (view_->rootIsDecorated() && !index.column())
    box.setLeft(option.rect.left() + theme().px(2) -
                (hasGlyph(*cell) && amongLeaves(index) ? theme().px(14) : 0));
  // A name may use what the number beside it leaves free, and leaves it what it needs.
  if (const Cell* beside = index.siblingAtColumn(index.column() + 1).data(CellRole).value<const Cell*>();
      column->stretch && beside && beside->bar < 0 &&
      columnOf(view_, index.siblingAtColumn(index.column() + 1))->number) {
    const int room = view_->columnWidth(index.column() + 1) - theme().px(12);
    box.setRight(box.right() + room - textWidth(theme().mono(12), beside->text));
  }
  // A number is never cut: it takes what it lacks from the name before it.
  if (column->number && cell->bar < 0)
    box.setLeft(std::min(box.left(), box.right() - textWidth(theme().mono(12), cell->text)));
  if (!cell->histogram.empty()) return drawHistogram(*painter, box, cell->histogram);
  if (cell->bar >= 0) {
    const int room = view_->numberRoom(index.column());
    drawBar(*painter, box.adjusted(0, 0, -room - theme().px(6), 0), cell->bar, cell->hollow);
    box.setLeft(box.right() - room);
  }
  if (option.rect.height() > theme().px(36)) box.setHeight(theme().row());  // a row of two lines
  QColor colour = cell->quiet ? theme().text2 : theme().text1;
  if (cell->tone != Tone::None) colour = theme().tone(cell->tone);
  const QRect glyph(box.x(), box.y() + (box.height() - theme().px(14)) / 2, theme().px(14), theme().px(14));
  if (cell->family != NodeFamily::None)
    drawFamily(*painter, cell->family, glyph);
  else if (!cell->icon.isEmpty())
    drawIcon(*painter, cell->icon, glyph, cell->tone != Tone::None ? colour : theme().text2);
  if (hasGlyph(*cell)) box.setLeft(glyph.right() + theme().px(7));
  if (!cell->below.isEmpty()) {
    QRect second = box.translated(0, theme().px(15));
    if (column->stretch) second.setRight(view_->viewport()->width() - theme().px(8));
    drawText(*painter, second, wholeFacts(cell->below, theme().mono(11), second.width()), theme().mono(11),
             theme().text2);
  }
  const bool heading = index.data(HeadingRole).toBool();
  const bool mono = column->mono || column->number || cell->mono;
  const QFont font = mono ? theme().mono(12, heading ? 600 : 400) : theme().ui(12, heading ? 600 : 400);
  if (!column->number && (heading || textWidth(font, cell->text) > box.width())) {
    const int right =
        std::min(rightOfTitle(view_, index, box.right()), view_->viewport()->width() - theme().px(8));
    box.setRight(heading ? right : std::max(box.right(), right));
  }
  drawText(*painter, box, cell->text, font, colour, column->number ? Qt::AlignRight : Qt::AlignLeft,
           mono && !column->number ? Elide::Middle : Elide::End);
}

QSize ItemDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const {
  const QVariant html = index.data(DetailRole);
  if (!html.isValid()) {
    const Cell* cell = index.siblingAtColumn(0).data(CellRole).value<const Cell*>();
    return {theme().px(40), cell && !cell->below.isEmpty() ? theme().px(42) : theme().row()};
  }
  QTextDocument document;
  layoutRichText(document, html.toString(), detailWidth());
  return {theme().px(40), static_cast<int>(document.size().height()) + theme().px(14)};
}

QString shownTitle(const QString& title, const QFont& font, int width) {
  const qsizetype comma = title.lastIndexOf(QStringLiteral(", "));
  if (comma <= 0 || textWidth(font, title) <= width) return title;
  const QString unit = title.mid(comma);
  return QFontMetrics(font).elidedText(title.left(comma), Qt::ElideRight, width - textWidth(font, unit)) +
         unit;
}

ItemHeader::ItemHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
  setSectionResizeMode(QHeaderView::Interactive);
  setHighlightSections(false);
  setMinimumSectionSize(theme().px(24));
}

QSize ItemHeader::sizeHint() const {
  return {QHeaderView::sizeHint().width(), theme().row()};
}

void ItemHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
  const auto* view = qobject_cast<ItemView*>(parentWidget());
  const auto& columns = const_cast<ItemView*>(view)->items()->columns();
  if (section >= static_cast<int>(columns.size())) return;
  const Column& column = columns[static_cast<size_t>(section)];
  painter->fillRect(rect, theme().bg1);
  hairline(*painter, QPointF(rect.left(), rect.bottom()), QPointF(rect.right() + 1, rect.bottom()),
           theme().line);
  QRect box = textBox(rect, section, count());
  if (isSortIndicatorShown() && sortIndicatorSection() == section && sectionsClickable()) {
    const QRect arrow(box.right() - theme().px(10), box.y() + theme().px(7), theme().px(10), theme().px(10));
    drawIcon(*painter, sortIndicatorOrder() == Qt::DescendingOrder ? "chevron-down" : "chevron-up", arrow,
             theme().text2);
    box.setRight(arrow.left() - theme().px(3));
  }
  const QString title = column.number ? shownTitle(column.title, theme().ui(11), box.width()) : column.title;
  drawText(*painter, box, title, theme().ui(11), theme().text2,
           column.number ? Qt::AlignRight : Qt::AlignLeft);
}

// Behind the last column, too, where the style would paint its own.
void ItemHeader::paintEvent(QPaintEvent* event) {
  QHeaderView::paintEvent(event);
  const int end = length() - offset();
  if (end >= viewport()->width()) return;
  QPainter painter(viewport());
  const QRect rest(end, 0, viewport()->width() - end, viewport()->height());
  painter.fillRect(rest, theme().bg1);
  hairline(painter, QPointF(rest.left(), rest.bottom()), QPointF(rest.right() + 1, rest.bottom()),
           theme().line);
}

}  // namespace vitrine::kit
