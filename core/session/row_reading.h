// Takes a row out of a statement: only the columns that the file has, and of each only what it can hold.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "core/base/ordered_texts.h"
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
      Column column{name, has(name), {}, {}, {}};
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
      Column& column = columns_[at++];
      if (!column.there) return;
      const bool fits = take(sqlite3_column_value(st, i++), column, field);
      if (fits) return;
      if (damage_.empty())
        damage_ = std::string(Row::table) + "." + column.name + " holds what it cannot hold";
      named = named && column.border.of != Border::Of::Own && column.border.of != Border::Of::OwnNumber;
    });
    return named;
  }

  const std::string& damage() const { return damage_; }
  // What texts and bytes of the rows until now take, beside the rows themselves.
  int64_t text_bytes() const { return text_bytes_; }

 private:
  struct Column {
    const char* name;
    bool there;
    Border border;
    SharedText last;
    TextOrder order = {};
  };

  // Leaves the default where the value is none for the column. NULL is the default of every column but an id.
  bool take(sqlite3_value* from, Column& column, int64_t& field) {
    const int type = sqlite3_value_type(from);
    const int64_t value = sqlite3_value_int64(from);
    const bool fits = (type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_NULL) &&
                      within(column.border, value);
    if (fits) field = value;
    return fits || (type == SQLITE_NULL && column.border.of == Border::Of::Number);
  }
  bool take(sqlite3_value* from, Column& column, BlobRef& field) { return take(from, column, field.row); }
  bool take(sqlite3_value* from, Column& column, double& field) {
    const int type = sqlite3_value_type(from);
    const double value = sqlite3_value_double(from);
    const bool fits = type != SQLITE_TEXT && type != SQLITE_BLOB && within(column.border, value);
    if (fits) field = value;
    return fits;
  }
  bool take(sqlite3_value* from, Column&, std::string& field) {
    if (sqlite3_value_type(from) == SQLITE_BLOB) return false;
    field = text_of(from);
    text_bytes_ += field.size() > kShort ? static_cast<int64_t>(field.size()) : 0;
    return true;
  }
  bool take(sqlite3_value* from, Column& column, SharedText& field) {
    if (sqlite3_value_type(from) == SQLITE_BLOB) return false;
    const std::string_view text = text_of(from);
    if (text.empty()) return true;
    if (text != column.last) {  // neighbouring rows have the same text more often than not
      bool added = false;
      column.last = texts_.of(text, added, column.order);
      if (added) text_bytes_ += kShared + static_cast<int64_t>(text.size());
    }
    field = column.last;
    return true;
  }
  bool take(sqlite3_value* from, Column&, Bytes& field) {
    const auto* data = static_cast<const uint8_t*>(sqlite3_value_blob(from));
    field.assign(data, data + sqlite3_value_bytes(from));
    text_bytes_ += static_cast<int64_t>(field.size());
    return true;
  }
  // Until the statement goes on.
  static std::string_view text_of(sqlite3_value* from) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(from));
    return text ? std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(from))) : std::string_view();
  }

  static constexpr size_t kShort = 32;    // texts up to that are counted with their row
  static constexpr int64_t kShared = 96;  // what a text costs that many rows have, beside its characters

  std::vector<Column> columns_;
  OrderedTexts texts_;
  int64_t text_bytes_ = 0;
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
