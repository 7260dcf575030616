// The table and tree of every view: rows of 24, the three highlights, bars, details in place, sorting and
// filter.
#pragma once

#include <QSortFilterProxyModel>
#include <QTreeView>
#include <tuple>

#include "views/kit/selection/selection.h"
#include "views/kit/tables/column_fit.h"
#include "views/kit/tables/item_model.h"

namespace vitrine::kit {

// A filtered row keeps its parents and its detail; filtering looks at all columns.
class ItemFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit ItemFilter(QObject* parent = nullptr);
  // Only rows of the top whose cell says exactly this; "" = all.
  void setOnly(int column, const QString& text);
  bool says(const QModelIndex& source) const;  // whether a row itself has the filter's text

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& a, const QModelIndex& b) const override;

 private:
  int only_column_ = 0;
  QString only_;
};

class ItemView : public QTreeView {
  Q_OBJECT
 public:
  explicit ItemView(QWidget* parent = nullptr);

  void setColumns(std::vector<Column> columns);
  void setItems(std::vector<Item> items);     // keeps what was open and where it was scrolled
  void setMarks(const Selection* selection);  // the view's own selection value; kept by pointer
  void setFilter(const QString& text);
  void setOnly(int column, const QString& text);  // rows of the top with this cell; "" = all
  void sortBy(int column, Qt::SortOrder order);
  void setSortingEnabled(bool on);
  int numberRoom(int column) const;  // beside the bars of a column
  void reveal(Id id);
  void openDetail(Id id, bool open);
  void step(bool forward);         // the next row is made active, past the last the first
  std::vector<Id> shown() const;   // ids of the rows, in order; of equal things as one row the first's
  std::vector<Id> listed() const;  // the same with each of equal things, whether their row is open or not
  // Header and rows, tab-separated as they are seen, or comma-separated, where equal things are a line each.
  QString text(bool csv) const;
  QString python()
      const;  // a list of dicts by column; numbers as they are shown, else strings; as CSV has them
  ItemModel* items() { return &model_; }

 Q_SIGNALS:
  void activate(vitrine::Id id);
  void selectAll(const std::vector<vitrine::Id>& ids);  // after activate(): all of a row of equal things
  void toggle(vitrine::Id id);
  void hover(vitrine::Id id);
  void open(vitrine::Id id, bool other);  // double click, second Enter; middle click: other

 protected:
  void drawRow(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
  void paintEvent(QPaintEvent* event) override;
  void drawBranches(QPainter* painter, const QRect& rect, const QModelIndex& index) const override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  Id idAt(const QModelIndex& index) const { return index.data(IdRole).toLongLong(); }
  bool closedGroup(const QModelIndex& index) const;
  Emphasis markOf(const QModelIndex& index) const;
  bool isHovered(const QModelIndex& index) const;
  void activateRow(const QModelIndex& index);
  void toggleRow(const QModelIndex& index);
  void openFound(const QModelIndex& parent = {});
  QList<QModelIndex> singly() const;
  const std::vector<double>& relativeTicks();
  void fitColumns();
  std::vector<int> tightWidths(const std::vector<int>& wished) const;
  void setWidths(const std::vector<int>& widths);
  int lettersOf(size_t column, const QFont& font) const;
  int widthOf(size_t column) const;
  int needOf(size_t column) const;
  ColumnNeed leastOf(size_t column, int wish) const;
  void spanDetails(const QModelIndex& parent = {});
  void restoreOpen(const QModelIndex& parent, const std::vector<Id>& open);

  ItemModel model_;
  ItemFilter filter_;
  const Selection* marks_ = nullptr;
  std::vector<Id> opened_by_filter_;
  std::tuple<Id, const void*, int> ticks_of_{};  // active, relatives, height
  std::vector<double> ticks_;
  std::vector<size_t> longest_;      // by column: characters of its longest text, bars apart
  bool has_details_ = false;         // any row has some below it
  std::vector<size_t> bar_numbers_;  // by column: characters of the longest number beside a bar
};

}  // namespace vitrine::kit
