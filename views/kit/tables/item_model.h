// Tables and trees as values: a view builds Items, the model serves them. An item may have a detail, which
// opens in place under its row across all columns.
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <QVariant>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "views/kit/painting/theme.h"

namespace vitrine::kit {

struct Cell {
  QString text;
  QVariant sort;                         // number to sort by; invalid = by text
  QString icon;                          // drawn before the text
  NodeFamily family = NodeFamily::None;  // its glyph instead of an icon, in its colour
  Tone tone = Tone::None;                // colour of text and icon
  bool quiet = false;                    // text2
  bool mono = false;                     // a name or code in a column that is otherwise text
  double bar = -1;                       // 0 to 1: a bar from the column's origin, left of the number
  bool hollow = false;                   // the bar as outline only (what did not happen)
  std::vector<double> histogram;         // drawn instead of the text: counts by class, the first apart
  QString tooltip;                       // exact value
  QString below;                         // a second, quieter line in mono; the row is 40 high
};

// Whether something is drawn before its text.
inline bool hasGlyph(const Cell& cell) {
  return cell.family != NodeFamily::None || !cell.icon.isEmpty();
}

struct Item {
  Id id = 0;
  std::vector<Cell> cells;
  std::vector<Item> children;
  QString detail;         // rich text that opens in place; "" = none
  bool heading = false;   // semi-bold, groups the rows below
  bool open = false;      // expanded at first
  bool together = false;  // equal things as one row, which stands for its children; its id is the first one's
};

struct Column {
  QString title;
  int width = 80;       // logical pixels
  bool number = false;  // right-aligned, mono
  bool mono = false;
  bool stretch = false;  // takes what is left
  bool bar = false;
  bool whole = false;  // its texts are never cut: sizes are numbers
};

enum ItemRole { CellRole = Qt::UserRole + 1, IdRole, SortRole, DetailRole, HeadingRole, TogetherRole };

class ItemModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  using QAbstractItemModel::QAbstractItemModel;
  void setColumns(std::vector<Column> columns);
  void setItems(std::vector<Item> items);
  const std::vector<Column>& columns() const { return columns_; }

  const Cell* cell(const QModelIndex& index) const;  // nullptr for details and missing cells
  Id idAt(const QModelIndex& index) const;
  QModelIndex indexOf(Id id) const;  // the first with that id
  // Of a row of equal things the ids of all of them, of any other its own.
  std::vector<Id> idsAt(const QModelIndex& index) const;
  QStringList lines() const;  // for tests and copying: "  a | b | c"

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
  // A node of the tree: an item, or the detail of one.
  struct Entry {
    const Item* item;
    bool detail;
    int row;
    Entry* up;
    std::vector<std::unique_ptr<Entry>> down;
  };
  static Entry* entry(const QModelIndex& index) { return static_cast<Entry*>(index.internalPointer()); }
  void grow(Entry& up, const std::vector<Item>& items);

  std::vector<Column> columns_;
  std::vector<Item> items_;
  std::unique_ptr<Entry> root_ = std::make_unique<Entry>();
  std::unordered_map<Id, Entry*> by_id_;
};

}  // namespace vitrine::kit
Q_DECLARE_METATYPE(const vitrine::kit::Cell*)
