// Rows of one kind, constant: found by id, or all rows of an owner (the nodes of a graph, the steps of a
// compilation) as one span in their order.
#pragma once

#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"

namespace vitrine::kit {

template <class Row>
class Table {
 public:
  Table() = default;
  // owner: the column that groups the rows; rows keep their order within an owner.
  explicit Table(std::vector<Row> rows, Id Row::* owner = nullptr) : rows_(std::move(rows)), owner_(owner) {
    const auto by_owner = [this](const Row& a, const Row& b) { return a.*owner_ < b.*owner_; };
    if (owner_ && !std::is_sorted(rows_.begin(), rows_.end(), by_owner))
      std::stable_sort(rows_.begin(), rows_.end(), by_owner);
    if constexpr (requires(const Row& row) { row.id; }) {
      // Rows are mostly in the order in which they were written: then a search finds them, and half a million
      // nodes need no index.
      ascending_ = std::adjacent_find(rows_.begin(), rows_.end(),
                                      [](const Row& a, const Row& b) { return a.id >= b.id; }) == rows_.end();
      if (ascending_) return;
      by_id_.reserve(rows_.size());
      for (const Row& row : rows_) by_id_.emplace(row.id, &row);
    }
  }
  Table(Table&&) noexcept = default;
  Table& operator=(Table&&) noexcept = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  const Row& operator[](size_t i) const { return rows_[i]; }
  std::span<const Row> all() const { return rows_; }

  // nullptr when there is none.
  const Row* find(Id id) const {
    if constexpr (requires(const Row& row) { row.id; }) {
      if (ascending_) {
        const auto at = std::lower_bound(rows_.begin(), rows_.end(), id,
                                         [](const Row& row, Id wanted) { return row.id < wanted; });
        return at == rows_.end() || at->id != id ? nullptr : &*at;
      }
    }
    auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second;
  }
  std::span<const Row> of(Id owner) const {
    if (!owner_) return {};
    auto from = std::lower_bound(rows_.begin(), rows_.end(), owner,
                                 [this](const Row& row, Id id) { return row.*owner_ < id; });
    auto to = std::upper_bound(from, rows_.end(), owner,
                               [this](Id id, const Row& row) { return id < row.*owner_; });
    return {from, to};
  }

 private:
  std::vector<Row> rows_;
  Id Row::* owner_ = nullptr;
  bool ascending_ = false;  // by id, each once
  std::unordered_map<Id, const Row*> by_id_;
};

}  // namespace vitrine::kit
