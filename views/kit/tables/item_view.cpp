#include "views/kit/tables/item_view.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <functional>
#include <set>

#include "views/kit/painting/paint.h"
#include "views/kit/tables/item_delegate.h"
#include "views/kit/text/copied.h"
#include "views/kit/text/find_pattern.h"
#include "views/kit/widgets/tick_bar.h"

namespace vitrine::kit {

namespace {
constexpr size_t kGlyphLetters = 3;               // what a glyph takes before a text
constexpr int kMargins = 14, kFirstMargins = 18;  // beside a text, of the last column and of the first
constexpr int kLeastBar = 84;                     // of a column with a bar and its number
constexpr int kShortBar = 24;                     // a bar alone, where there is no room
constexpr int kClearText = 200;    // a stretching column that cuts texts below this width is too narrow
constexpr int kLeastName = 96;     // a name that stretches is less useful than a scroll bar below this
constexpr int kWholeName = 360;    // a name up to that stays whole as long as other texts can be read
constexpr int kLeastText = 76;     // and no text column is less than this
constexpr int kMostWhole = 2;      // times its width: a longer text of a column that cuts none is cut
constexpr size_t kFewColumns = 4;  // a list of less keeps its numbers together
}  // namespace

ItemFilter::ItemFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(SortRole);
  setRecursiveFilteringEnabled(true);
  setFilterCaseSensitivity(Qt::CaseInsensitive);
}

void ItemFilter::setOnly(int column, const QString& text) {
  only_column_ = column;
  only_ = text;
  invalidateFilter();
}

bool ItemFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  if (!only_.isEmpty()) {
    QModelIndex top = sourceModel()->index(row, 0, parent);
    while (top.parent().isValid()) top = top.parent();
    if (top.siblingAtColumn(only_column_).data().toString() != only_) return false;
  }
  const QString text = filterRegularExpression().pattern();
  if (text.isEmpty() || says(sourceModel()->index(row, 0, parent))) return true;
  return parent.isValid() && filterAcceptsRow(parent.row(), parent.parent());
}

bool ItemFilter::says(const QModelIndex& source) const {
  for (int column = 0; column < sourceModel()->columnCount(source.parent()); ++column)
    if (source.siblingAtColumn(column).data().toString().contains(filterRegularExpression())) return true;
  return false;
}

bool ItemFilter::lessThan(const QModelIndex& a, const QModelIndex& b) const {
  const QVariant x = a.data(SortRole), y = b.data(SortRole);
  if (a.data(DetailRole).isValid()) return sortOrder() == Qt::AscendingOrder;  // a detail stays first
  const bool numbers = x.userType() != QMetaType::QString && y.userType() != QMetaType::QString;
  const int order = numbers ? (x.toDouble() > y.toDouble()) - (x.toDouble() < y.toDouble())
                            : QString::localeAwareCompare(x.toString(), y.toString());
  // Equal ones stand as they were given, whichever way the column is sorted.
  if (order == 0) return sortOrder() == Qt::AscendingOrder ? a.row() < b.row() : a.row() > b.row();
  return order < 0;
}

ItemView::ItemView(QWidget* parent) : QTreeView(parent) {
  filter_.setSourceModel(&model_);
  setModel(&filter_);
  setItemDelegate(new ItemDelegate(this));
  setFrameShape(QFrame::NoFrame);
  setUniformRowHeights(false);
  setMouseTracking(true);
  setRootIsDecorated(false);
  setExpandsOnDoubleClick(false);
  setAllColumnsShowFocus(true);
  setSelectionMode(QAbstractItemView::NoSelection);  // marks come from the selection model
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setVerticalScrollBar(new TickBar(this, [this] { return relativeTicks(); }));
  setHeader(new ItemHeader(this));
  header()->setSectionsMovable(false);
  header()->setStretchLastSection(false);
  connect(header(), &QHeaderView::sortIndicatorChanged, this, [this] {
    fitColumns();  // the title beside the arrow needs room
    spanDetails();
  });
}

void ItemView::setColumns(std::vector<Column> columns) {
  model_.setColumns(std::move(columns));
  fitColumns();
}

void ItemView::setItems(std::vector<Item> items) {
  std::vector<Id> open;
  std::set<Id> known;  // what could be opened before, and was or was not
  std::function<void(const QModelIndex&)> remember = [&](const QModelIndex& parent) {
    for (int row = 0; row < filter_.rowCount(parent); ++row) {
      const QModelIndex index = filter_.index(row, 0, parent);
      if (filter_.rowCount(index) == 0) continue;
      known.insert(idAt(index));
      if (isExpanded(index)) open.push_back(idAt(index));
      remember(index);
    }
  };
  remember({});
  std::function<void(const std::vector<Item>&)> first = [&](const std::vector<Item>& all) {
    for (const Item& item : all) {
      if (item.open && !known.contains(item.id)) open.push_back(item.id);
      first(item.children);
    }
  };
  first(items);
  const int scroll = verticalScrollBar()->value();
  bool tree = false;
  for (const Item& item : items) tree = tree || !item.children.empty();
  setRootIsDecorated(tree);
  longest_.assign(model_.columns().size(), 0);
  bar_numbers_.assign(model_.columns().size(), 0);
  has_details_ = false;
  std::function<void(const std::vector<Item>&)> measure = [&](const std::vector<Item>& all) {
    for (const Item& item : all) {
      has_details_ |= !item.detail.isEmpty();
      for (size_t c = 0; c < item.cells.size() && c < longest_.size(); ++c)
        if (!item.cells[c].histogram.empty())
          continue;  // drawn, as wide as there is room
        else if (item.cells[c].bar < 0)
          longest_[c] = std::max(longest_[c], static_cast<size_t>(item.cells[c].text.size()) +
                                                  (hasGlyph(item.cells[c]) ? kGlyphLetters : 0));
        else
          bar_numbers_[c] = std::max(bar_numbers_[c], static_cast<size_t>(item.cells[c].text.size()));
      measure(item.children);
    }
  };
  measure(items);
  model_.setItems(std::move(items));
  fitColumns();
  spanDetails();
  restoreOpen({}, open);
  verticalScrollBar()->setValue(scroll);
}

void ItemView::restoreOpen(const QModelIndex& parent, const std::vector<Id>& open) {
  for (int row = 0; row < filter_.rowCount(parent); ++row) {
    const QModelIndex index = filter_.index(row, 0, parent);
    if (std::find(open.begin(), open.end(), idAt(index)) == open.end()) continue;
    setExpanded(index, true);
    restoreOpen(index, open);
  }
}

void ItemView::spanDetails(const QModelIndex& parent) {
  if (!has_details_) return;  // else every row of a long tree is asked
  for (int row = 0; row < filter_.rowCount(parent); ++row) {
    const QModelIndex index = filter_.index(row, 0, parent);
    if (index.data(DetailRole).isValid()) setFirstColumnSpanned(row, parent, true);
    spanDetails(index);
  }
}

void ItemView::setMarks(const Selection* selection) {
  marks_ = selection;
  viewport()->update();
}

// Where the rows of the active thing and of its relatives stand, from 0 at the top to 1.
const std::vector<double>& ItemView::relativeTicks() {
  const std::tuple<Id, const void*, int> of{marks_ ? marks_->active : 0,
                                            marks_ ? marks_->relatives.get() : nullptr,
                                            verticalScrollBar()->maximum()};
  if (of == ticks_of_) return ticks_;
  ticks_of_ = of;
  ticks_.clear();
  if (!std::get<0>(of)) return ticks_;
  double at = 0;
  for (QModelIndex index = filter_.index(0, 0); index.isValid(); index = indexBelow(index)) {
    if (markOf(index) != Emphasis::None) ticks_.push_back(at);
    at += rowHeight(index);
  }
  for (double& tick : ticks_) tick /= std::max(1.0, at);
  return ticks_;
}

void ItemView::paintEvent(QPaintEvent* event) {
  QTreeView::paintEvent(event);
  verticalScrollBar()->update();  // its ticks are of the same marks
}

void ItemView::setFilter(const QString& text) {
  for (const Id id : std::exchange(opened_by_filter_, {}))
    setExpanded(filter_.mapFromSource(model_.indexOf(id)), false);
  filter_.setFilterRegularExpression(findPattern(text));
  if (!text.isEmpty()) openFound();
  spanDetails();
}

// Of equal things as one row those that the filter's text is found in alone are seen.
void ItemView::openFound(const QModelIndex& parent) {
  for (int row = 0; row < filter_.rowCount(parent); ++row) {
    const QModelIndex index = filter_.index(row, 0, parent);
    openFound(index);
    if (!closedGroup(index) || filter_.says(filter_.mapToSource(index))) continue;
    setExpanded(index, true);
    opened_by_filter_.push_back(idAt(index));
  }
}

void ItemView::setOnly(int column, const QString& text) {
  filter_.setOnly(column, text);
  spanDetails();
}

void ItemView::sortBy(int column, Qt::SortOrder order) {
  sortByColumn(column, order);
  spanDetails();
}

void ItemView::setSortingEnabled(bool on) {
  QTreeView::setSortingEnabled(on);
  header()->setSectionsClickable(on);
}

void ItemView::reveal(Id id) {
  QModelIndex index = filter_.mapFromSource(model_.indexOf(id));
  if (!index.isValid()) return;
  // The first of equal things has the id of their row: what the cursor is at stays.
  if (idAt(currentIndex()) == id && !currentIndex().data(DetailRole).isValid()) index = currentIndex();
  for (QModelIndex up = index.parent(); up.isValid(); up = up.parent()) setExpanded(up, true);
  setCurrentIndex(index);
  scrollTo(index);
}

void ItemView::openDetail(Id id, bool open) {
  const QModelIndex index = filter_.mapFromSource(model_.indexOf(id));
  if (index.isValid() && !index.data(TogetherRole).toBool()) setExpanded(index, open);
}

bool ItemView::closedGroup(const QModelIndex& index) const {
  return index.data(TogetherRole).toBool() && !isExpanded(index.siblingAtColumn(0));
}

// A closed row of equal things is marked as the most prominent of them is.
Emphasis ItemView::markOf(const QModelIndex& index) const {
  if (!marks_ || index.data(DetailRole).isValid()) return Emphasis::None;
  Emphasis out = marks_->mark(idAt(index));
  if (!closedGroup(index)) return out;
  for (const Id id : model_.idsAt(filter_.mapToSource(index))) out = std::max(out, marks_->mark(id));
  return out;
}

bool ItemView::isHovered(const QModelIndex& index) const {
  if (!marks_ || index.data(DetailRole).isValid()) return false;
  if (!closedGroup(index)) return marks_->isHovered(idAt(index));
  const std::vector<Id> all = model_.idsAt(filter_.mapToSource(index));
  return std::any_of(all.begin(), all.end(), [this](Id id) { return marks_->isHovered(id); });
}

// Equal things as one row are all selected, or none of them.
void ItemView::toggleRow(const QModelIndex& index) {
  const std::vector<Id> all = model_.idsAt(filter_.mapToSource(index));
  const bool selected = marks_ && !all.empty() && marks_->isSelected(all.front());
  for (const Id id : all)
    if (all.size() == 1 || (marks_ && marks_->isSelected(id)) == selected) Q_EMIT toggle(id);
}

void ItemView::activateRow(const QModelIndex& index) {
  Q_EMIT activate(idAt(index));
  if (index.data(TogetherRole).toBool()) Q_EMIT selectAll(model_.idsAt(filter_.mapToSource(index)));
}

void ItemView::step(bool forward) {
  const std::vector<Id> rows = shown();
  if (rows.empty()) return;
  const auto at = std::find(rows.begin(), rows.end(), marks_ ? marks_->active : 0);
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t now = at == rows.end() ? (forward ? -1 : 0) : at - rows.begin();
  Q_EMIT activate(rows[static_cast<size_t>((now + (forward ? 1 : -1) + count) % count)]);
}

std::vector<Id> ItemView::shown() const {
  std::vector<Id> out;
  for (QModelIndex at = filter_.index(0, 0); at.isValid(); at = indexBelow(at)) {
    const bool open = at.data(TogetherRole).toBool() && isExpanded(at);  // each of its things has a row
    if (!at.data(DetailRole).isValid() && !open && idAt(at)) out.push_back(idAt(at));
  }
  return out;
}

// The rows that are seen, but for those of equal things: these stand one by one, in the order of their row.
QList<QModelIndex> ItemView::singly() const {
  QList<QModelIndex> out;
  for (QModelIndex at = filter_.index(0, 0); at.isValid(); at = indexBelow(at)) {
    if (at.data(DetailRole).isValid()) continue;
    const bool together = at.data(TogetherRole).toBool();
    if (!together) out << at;
    for (int row = 0; together && !isExpanded(at) && row < filter_.rowCount(at); ++row)
      if (const QModelIndex each = filter_.index(row, 0, at); !each.data(DetailRole).isValid()) out << each;
  }
  return out;
}

std::vector<Id> ItemView::listed() const {
  std::vector<Id> out;
  for (const QModelIndex& at : singly())
    if (const Id id = idAt(at)) out.push_back(id);
  return out;
}

QString ItemView::text(bool csv) const {
  QStringList lines, cells;
  for (const Column& column : model_.columns()) cells << column.title;
  lines << separated(cells, csv);
  auto add = [&](const QModelIndex& at) {
    cells.clear();
    for (int column = 0; column < filter_.columnCount(); ++column)
      cells << at.siblingAtColumn(column).data().toString();
    lines << separated(cells, csv);
  };
  if (csv)
    for (const QModelIndex& at : singly()) add(at);
  else
    for (QModelIndex at = filter_.index(0, 0); at.isValid(); at = indexBelow(at))
      if (!at.data(DetailRole).isValid()) add(at);
  return lines.join('\n');
}

QString ItemView::python() const {
  QStringList rows;
  for (const QModelIndex& at : singly()) {
    QStringList cells;
    for (int column = 0; column < filter_.columnCount(); ++column)
      cells << pythonString(model_.columns()[static_cast<size_t>(column)].title) + ": " +
                   pythonValue(at.siblingAtColumn(column).data().toString());
    rows << "    {" + cells.join(", ") + "},";
  }
  return rows.isEmpty() ? QString() : "rows = [\n" + rows.join('\n') + "\n]\n";
}

void ItemView::drawRow(QPainter* painter, const QStyleOptionViewItem& option,
                       const QModelIndex& index) const {
  const Id id = idAt(index);
  const Emphasis mark = markOf(index);
  const bool hovered = isHovered(index);
  const QRect row(0, option.rect.y(), viewport()->width(), option.rect.height());
  drawRowGround(*painter, row, mark, hovered);
  if (marks_ && id && id != marks_->active &&
      mark == Emphasis::Ring)  // a relative: sole, but not the one clicked
    painter->fillRect(QRect(0, row.y(), theme().px(3), row.height()), theme().text2);
  QTreeView::drawRow(painter, option, index);
  if (hovered && mark == Emphasis::None) dashedBox(*painter, row.adjusted(0, 0, -1, -1), theme().text2);
}

void ItemView::drawBranches(QPainter* painter, const QRect& rect, const QModelIndex& index) const {
  if (model_.columns().size() && !rootIsDecorated()) return;
  QTreeView::drawBranches(painter, rect, index);
}

void ItemView::mousePressEvent(QMouseEvent* event) {
  const QModelIndex index = indexAt(event->position().toPoint());
  const Id id = index.data(DetailRole).isValid() ? 0 : idAt(index);
  const bool detailed = id && filter_.rowCount(index.siblingAtColumn(0)) == 1 &&
                        filter_.index(0, 0, index.siblingAtColumn(0)).data(DetailRole).isValid();
  QTreeView::mousePressEvent(event);
  if (event->button() == Qt::MiddleButton && id) {
    Q_EMIT open(id, true);
  } else if (event->button() == Qt::LeftButton && event->modifiers() & Qt::ControlModifier) {
    if (id) toggleRow(index);
  } else if (event->button() == Qt::LeftButton && !index.data(DetailRole).isValid()) {
    if (detailed) setExpanded(index.siblingAtColumn(0), !isExpanded(index.siblingAtColumn(0)));
    if (id || !index.isValid()) activateRow(index);
  }
}

void ItemView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const Id id = idAt(indexAt(event->position().toPoint()))) Q_EMIT open(id, false);
}

void ItemView::mouseMoveEvent(QMouseEvent* event) {
  QTreeView::mouseMoveEvent(event);
  Q_EMIT hover(idAt(indexAt(event->position().toPoint())));
}

void ItemView::leaveEvent(QEvent* event) {
  QTreeView::leaveEvent(event);
  Q_EMIT hover(0);
}

void ItemView::keyPressEvent(QKeyEvent* event) {
  const Id id = idAt(currentIndex());
  if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && id) {
    if (event->modifiers() & Qt::ControlModifier)
      Q_EMIT open(id, true);
    else if (marks_ && marks_->active == id)
      Q_EMIT open(id, false);
    else
      activateRow(currentIndex());
    return;
  }
  // Single letters are the shell's commands, not a search by typing.
  if (event->modifiers() == Qt::NoModifier && !event->text().isEmpty() && event->text()[0].isPrint()) {
    event->ignore();
    return;
  }
  QTreeView::keyPressEvent(event);
  const Id now = idAt(currentIndex());
  if (now == id) return;
  Q_EMIT hover(now);
  if (event->modifiers() & Qt::ShiftModifier && now && !(marks_ && marks_->isSelected(now)))
    toggleRow(currentIndex());
}

// Columns that do not fit at their least are scrolled to.
void ItemView::wheelEvent(QWheelEvent* event) {
  if (!(event->modifiers() & Qt::ShiftModifier) || !event->angleDelta().y())
    return QTreeView::wheelEvent(event);
  horizontalScrollBar()->setValue(horizontalScrollBar()->value() - event->angleDelta().y() / 2);
}

void ItemView::resizeEvent(QResizeEvent* event) {
  QTreeView::resizeEvent(event);
  fitColumns();
  scheduleDelayedItemsLayout();  // details have another height now
}

void ItemView::changeEvent(QEvent* event) {
  QTreeView::changeEvent(event);
  if (event->type() == QEvent::StyleChange) {
    setIndentation(theme().px(12));
    fitColumns();
  }
}

// What the numbers beside a column's bars take: the bars end at one place, and no number is cut.
int ItemView::numberRoom(int column) const {
  const auto at = static_cast<size_t>(column);
  const size_t longest = at < bar_numbers_.size() ? bar_numbers_[at] : 0;
  const int digits = textWidth(theme().mono(12), QString(static_cast<qsizetype>(longest), '0'));
  return std::max(theme().px(44), digits + theme().px(2));
}

// What as many letters as the longest text of a column has take.
int ItemView::lettersOf(size_t column, const QFont& font) const {
  const size_t longest = column < longest_.size() ? longest_[column] : 0;
  return longest ? textWidth(font, QString(static_cast<qsizetype>(longest), '0')) : 0;
}

// What a column of numbers needs for its longest; any other column, its own width.
int ItemView::widthOf(size_t column) const {
  const Column& of = model_.columns()[column];
  const int width = theme().px(of.width);
  const bool beside = column > 0 && model_.columns()[column - 1].stretch;  // takes room from the name
  if (of.whole) return std::max(width, needOf(column));
  if (!of.number || beside) return width;
  return std::max(width, lettersOf(column, theme().mono(12)) + theme().px(column ? kMargins : kFirstMargins));
}

// What the longest text of a column takes.
int ItemView::needOf(size_t column) const {
  const Column& of = model_.columns()[column];
  const int letters = lettersOf(column, of.mono || of.number ? theme().mono(12) : theme().ui(12));
  const int depth = column == 0 && rootIsDecorated() ? 2 * indentation() : 0;
  const int need = letters + depth + theme().px(column ? kMargins : kFirstMargins);
  // A kernel that is many in one names them all: it leaves room for the other columns.
  return of.whole ? std::min(need, kMostWhole * theme().px(of.width)) : need;
}

// What no column can do without: its texts, its title with the arrow of the order, a bar that still says
// something.
ColumnNeed ItemView::leastOf(size_t column, int wish) const {
  const Column& of = model_.columns()[column];
  const int arrow = header()->sortIndicatorSection() == static_cast<int>(column) ? theme().px(13) : 0;
  const int title = textWidth(theme().ui(11), of.title) + theme().px(18) + arrow;
  const int bar = of.bar ? numberRoom(static_cast<int>(column)) + theme().px(kShortBar) : 0;
  const bool text = !of.number && !of.bar && !of.whole;
  // A list with one value a row stays within its pane. Of two columns that stretch the first names the row.
  const auto first = std::find_if(model_.columns().begin(), model_.columns().end(),
                                  [](const Column& each) { return each.stretch; });
  const bool name = text && of.stretch && model_.columns().size() > 2 && &of == &*first;
  const int depth = column == 0 && rootIsDecorated() ? 2 * indentation() : 0;
  return {wish, std::max({needOf(column), title, bar}), text, name ? theme().px(kLeastName) + depth : 0,
          name && of.mono ? theme().px(kWholeName) + depth : 0};
}

// Fixed widths first; the stretching columns share what is left, by their width. What they do not need goes
// to columns whose texts are cut, and of a wide table to all.
void ItemView::fitColumns() {
  const auto& columns = model_.columns();
  std::vector<int> widths;
  int fixed = 0, share = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    widths.push_back(widthOf(i));
    (columns[i].stretch ? share : fixed) += columns[i].stretch ? theme().px(columns[i].width) : widths[i];
  }
  const int left = std::max(0, viewport()->width() - fixed);
  bool tight = fixed >= viewport()->width();
  int spare = 0, base = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].stretch && share > 0) {
      widths[i] = std::max(theme().px(60), left * theme().px(columns[i].width) / share);
      tight |= widths[i] < std::min(needOf(i), theme().px(columns[i].mono ? kWholeName : kClearText));
      const int keeps = std::max(needOf(i), theme().px(columns[i].width));
      if (columns.size() >= kFewColumns && widths[i] > keeps) {
        spare += widths[i] - keeps;
        widths[i] = keeps;
      }
    }
    base += widths[i];
  }
  if (tight) return setWidths(tightWidths(widths));
  // A bar is as clear when it is shorter; a name that is cut is not.
  for (size_t i = 0; i < columns.size(); ++i)
    for (size_t bar = 0; columns[i].stretch && bar < columns.size(); ++bar) {
      if (!columns[bar].bar) continue;
      const int wanted = std::min(needOf(i), theme().px(200)) - widths[i];
      const int taken = std::min(wanted, widths[bar] - theme().px(kLeastBar));
      if (taken <= 0) continue;
      widths[i] += taken;
      widths[bar] -= taken;
    }
  for (size_t i = 0; i < columns.size(); ++i) {
    const int more = std::clamp(columns[i].number ? 0 : needOf(i) - widths[i], 0, spare);
    widths[i] += more;
    spare -= more;
    base += more;
  }
  for (size_t i = 0; i < columns.size() && base > 0; ++i) widths[i] += spare * widths[i] / base;
  setWidths(widths);
}

std::vector<int> ItemView::tightWidths(const std::vector<int>& wished) const {
  std::vector<ColumnNeed> needs;
  for (size_t i = 0; i < wished.size(); ++i) needs.push_back(leastOf(i, wished[i]));
  return sharedWidths(needs, viewport()->width(), theme().px(kLeastText));
}

void ItemView::setWidths(const std::vector<int>& widths) {
  for (size_t i = 0; i < widths.size(); ++i)
    if (header()->count() > static_cast<int>(i)) header()->resizeSection(static_cast<int>(i), widths[i]);
}

}  // namespace vitrine::kit
