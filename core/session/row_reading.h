// Takes a row out of a statement: only the columns that the file has, and of each only what it can hold.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "core/session/borders.h"
#include "core/session/sql.h"

namespace vitrine::session {

template <class Row>
class RowReading {
 public:
  // has(column): the file has it.
  template <class Has>
  explicit RowReading(Has has) {
    Row row;
    Row::each(row, [&](const char* name, auto& field) {
      using Field = std::decay_t<decltype(field)>;
      Column column{name, has(name), {}};
      if constexpr (std::is_same_v<Field, double>)
        column.border = real_border(Row::table);
      else if constexpr (std::is_same_v<Field, BlobRef>)
        column.border = {Border::Of::Number, Kind::None, 0, kMost};
      else
        column.border = integer_border(Row::table, name);
      if (column.there) names_ += (names_.empty() ? "\"" : ", \"") + std::string(name) + "\"";
      columns_.push_back(column);
    });
  }

  const std::string& columns() const { return names_; }  // for SELECT; "": the file has none of them

  // false: the row has no id of its own, so that nothing can name it.
  bool read(sqlite3_stmt* st, Row& row) {
    size_t at = 0;
    int i = 0;
    bool named = true;
    Row::each(row, [&](const char*, auto& field) {
      const Column& column = columns_[at++];
      if (!column.there) return;
      const bool fits = take(st, i++, column.border, field);
      if (fits) return;
      if (damage_.empty())
        damage_ = std::string(Row::table) + "." + column.name + " holds what it cannot hold";
      named = named && column.border.of != Border::Of::Own && column.border.of != Border::Of::OwnNumber;
    });
    return named;
  }

  const std::string& damage() const { return damage_; }

 private:
  struct Column {
    const char* name;
    bool there;
    Border border;
  };

  // Leaves the default where the value is none for the column. NULL is the default of every column but an id.
  static bool take(sqlite3_stmt* st, int i, const Border& border, int64_t& field) {
    const int type = sqlite3_column_type(st, i);
    const int64_t value = sqlite3_column_int64(st, i);
    const bool fits =
        (type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_NULL) && within(border, value);
    if (fits) field = value;
    return fits || (type == SQLITE_NULL && border.of == Border::Of::Number);
  }
  static bool take(sqlite3_stmt* st, int i, const Border& border, BlobRef& field) {
    return take(st, i, border, field.row);
  }
  static bool take(sqlite3_stmt* st, int i, const Border& border, double& field) {
    const int type = sqlite3_column_type(st, i);
    const double value = sqlite3_column_double(st, i);
    const bool fits = type != SQLITE_TEXT && type != SQLITE_BLOB && within(border, value);
    if (fits) field = value;
    return fits;
  }
  static bool take(sqlite3_stmt* st, int i, const Border&, std::string& field) {
    if (sqlite3_column_type(st, i) == SQLITE_BLOB) return false;
    sql::column(st, i, field);
    return true;
  }
  static bool take(sqlite3_stmt* st, int i, const Border&, Bytes& field) {
    sql::column(st, i, field);
    return true;
  }

  std::vector<Column> columns_;
  std::string names_, damage_;
};

// ---- what no single column tells

template <class Row>
void settle_row(Row&, bool) {}

// Of a stranger's session nobody knows whether its engine goes on; that it says so is no reason to wait.
inline void settle_row(MetaRow& row, bool trusted) {
  if (!trusted && row.key == "status" && row.value == "running") row.value = "died";
}
inline void settle_row(RunRow& row, bool trusted) {
  if (!trusted && row.status == "running") row.status = "died";
}
inline void settle_row(CompilationRow& row, bool trusted) {
  if (!trusted && row.status == "running") row.status = "cancelled";
}

template <class Row>
void settle_rows(std::vector<Row>& rows, bool trusted) {
  if (!trusted)
    for (Row& row : rows) settle_row(row, trusted);
}

// A step is at most one call deeper than the one before it: views make a frame for each.
inline void settle_rows(std::vector<StepRow>& rows, bool) {
  std::unordered_map<Id, int64_t> deepest;
  for (StepRow& row : rows) {
    int64_t& most = deepest[row.compilation];
    row.depth = std::min(row.depth, most);
    most = row.depth + 1;
  }
}

}  // namespace vitrine::session
