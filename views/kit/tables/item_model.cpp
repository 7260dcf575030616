#include "views/kit/tables/item_model.h"

#include <functional>

#include "views/kit/text/shown.h"

namespace vitrine::kit {

void ItemModel::setColumns(std::vector<Column> columns) {
  if (columns.size() == columns_.size()) {  // other titles: what is open stays open
    columns_ = std::move(columns);
    if (!columns_.empty()) Q_EMIT headerDataChanged(Qt::Horizontal, 0, static_cast<int>(columns_.size()) - 1);
    return;
  }
  beginResetModel();
  columns_ = std::move(columns);
  endResetModel();
}

void ItemModel::setItems(std::vector<Item> items) {
  beginResetModel();
  items_ = std::move(items);
  by_id_.clear();
  root_ = std::make_unique<Entry>(Entry{nullptr, false, 0, nullptr, {}});
  grow(*root_, items_);
  endResetModel();
}

void ItemModel::grow(Entry& up, const std::vector<Item>& items) {
  for (const Item& item : items) {
    auto made = std::make_unique<Entry>(Entry{&item, false, static_cast<int>(up.down.size()), &up, {}});
    if (item.id) by_id_.emplace(item.id, made.get());  // of several rows of one thing the first
    if (!item.detail.isEmpty())
      made->down.push_back(std::make_unique<Entry>(Entry{&item, true, 0, made.get(), {}}));
    grow(*made, item.children);
    up.down.push_back(std::move(made));
  }
}

const Cell* ItemModel::cell(const QModelIndex& index) const {
  if (!index.isValid() || entry(index)->detail) return nullptr;
  const auto& cells = entry(index)->item->cells;
  return index.column() < static_cast<int>(cells.size()) ? &cells[static_cast<size_t>(index.column())]
                                                         : nullptr;
}

Id ItemModel::idAt(const QModelIndex& index) const {
  return index.isValid() ? entry(index)->item->id : 0;
}

std::vector<Id> ItemModel::idsAt(const QModelIndex& index) const {
  if (!index.isValid() || entry(index)->detail) return {};
  const Item& item = *entry(index)->item;
  if (!item.together) return item.id ? std::vector<Id>{item.id} : std::vector<Id>();
  std::vector<Id> out;
  for (const Item& each : item.children) out.push_back(each.id);
  return out;
}

QModelIndex ItemModel::indexOf(Id id) const {
  const auto found = id ? by_id_.find(id) : by_id_.end();
  return found == by_id_.end() ? QModelIndex() : createIndex(found->second->row, 0, found->second);
}

QStringList ItemModel::lines() const {
  QStringList out;
  std::function<void(const Entry&, int)> walk = [&](const Entry& up, int depth) {
    for (const auto& child : up.down) {
      if (child->detail) continue;
      QStringList cells;
      for (const Cell& cell : child->item->cells) cells << cell.text;
      out << QString(depth * 2, ' ') + cells.join(" | ");
      walk(*child, depth + 1);
    }
  };
  walk(*root_, 0);
  return out;
}

QModelIndex ItemModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  const Entry* up = parent.isValid() ? entry(parent) : root_.get();
  return createIndex(row, column, up->down[static_cast<size_t>(row)].get());
}

QModelIndex ItemModel::parent(const QModelIndex& child) const {
  if (!child.isValid()) return {};
  Entry* up = entry(child)->up;
  return up == root_.get() ? QModelIndex() : createIndex(up->row, 0, up);
}

int ItemModel::rowCount(const QModelIndex& parent) const {
  if (parent.column() > 0) return 0;
  return static_cast<int>((parent.isValid() ? entry(parent) : root_.get())->down.size());
}

int ItemModel::columnCount(const QModelIndex&) const {
  return static_cast<int>(columns_.size());
}

QVariant ItemModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Entry& at = *entry(index);
  const Cell* cell = this->cell(index);
  switch (role) {
    case Qt::DisplayRole:
      return cell ? cell->text : QVariant();
    case Qt::ToolTipRole:
      return cell && !cell->tooltip.isEmpty() ? tip(cell->tooltip) : QVariant();
    case CellRole:
      return QVariant::fromValue(cell);
    case IdRole:
      return QVariant::fromValue<qlonglong>(at.item->id);
    case SortRole:
      return cell && cell->sort.isValid() ? cell->sort : cell ? QVariant(cell->text) : QVariant();
    case DetailRole:
      return at.detail ? at.item->detail : QVariant();
    case HeadingRole:
      return at.item->heading;
    case TogetherRole:
      return !at.detail && at.item->together;
    default:
      return {};
  }
}

QVariant ItemModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= static_cast<int>(columns_.size())) return {};
  const Column& column = columns_[static_cast<size_t>(section)];
  if (role == Qt::DisplayRole) return column.title;
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue(column.number ? Qt::AlignRight | Qt::AlignVCenter
                                             : Qt::AlignLeft | Qt::AlignVCenter);
  return {};
}

Qt::ItemFlags ItemModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  Qt::ItemFlags flags = Qt::ItemIsEnabled;
  if (!entry(index)->detail) flags |= Qt::ItemIsSelectable;
  return flags;
}

}  // namespace vitrine::kit
