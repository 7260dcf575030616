// Binding between rows.h and SQLite: one overload a column type, shared by writer and reader.
#pragma once

#include <sqlite3.h>

#include <string>

#include "core/session/rows.h"

namespace vitrine::session::sql {

inline const char* type_of(const int64_t&) {
  return "INTEGER";
}
inline const char* type_of(const double&) {
  return "REAL";
}
inline const char* type_of(const std::string&) {
  return "TEXT";
}
inline const char* type_of(const SharedText&) {
  return "TEXT";
}
inline const char* type_of(const BlobRef&) {
  return "INTEGER";
}
inline const char* type_of(const Bytes&) {
  return "BLOB";
}

inline void bind(sqlite3_stmt* st, int i, const int64_t& v) {
  sqlite3_bind_int64(st, i, v);
}
inline void bind(sqlite3_stmt* st, int i, const double& v) {
  sqlite3_bind_double(st, i, v);
}
inline void bind(sqlite3_stmt* st, int i, const BlobRef& v) {
  sqlite3_bind_int64(st, i, v.row);
}
inline void bind(sqlite3_stmt* st, int i, const std::string& v) {
  sqlite3_bind_text64(st, i, v.data(), v.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
inline void bind(sqlite3_stmt* st, int i, const SharedText& v) {
  bind(st, i, v.str());
}
inline void bind(sqlite3_stmt* st, int i, const Bytes& v) {
  sqlite3_bind_blob64(st, i, v.data(), v.size(), SQLITE_TRANSIENT);
}

inline void column(sqlite3_stmt* st, int i, int64_t& v) {
  v = sqlite3_column_int64(st, i);
}
inline void column(sqlite3_stmt* st, int i, double& v) {
  v = sqlite3_column_double(st, i);
}
inline void column(sqlite3_stmt* st, int i, BlobRef& v) {
  v.row = sqlite3_column_int64(st, i);
}
inline void column(sqlite3_stmt* st, int i, std::string& v) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(st, i));
  v.assign(text ? text : "", text ? static_cast<size_t>(sqlite3_column_bytes(st, i)) : 0);
}
inline void column(sqlite3_stmt* st, int i, Bytes& v) {
  const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(st, i));
  v.assign(data, data + sqlite3_column_bytes(st, i));
}

// "id, file, line": the columns of a row type, in order.
template <class Row>
std::string column_list() {
  std::string out;
  Row row;
  Row::each(
      row, [&](const char* name, auto&) { out += (out.empty() ? "\"" : ", \"") + std::string(name) + "\""; });
  return out;
}

// "INTEGER PRIMARY KEY": what stands behind a column's name where its table is created.
template <class Field>
std::string declared_type(const std::string& name, const Field& field) {
  return std::string(type_of(field)) + (name == "id" ? " PRIMARY KEY" : "");
}

template <class Row>
std::string create_statement() {
  std::string columns;
  Row row;
  Row::each(row, [&](const char* name, auto& field) {
    columns += (columns.empty() ? "\"" : ", \"") + std::string(name) + "\" " + declared_type(name, field);
  });
  return "CREATE TABLE IF NOT EXISTS \"" + std::string(Row::table) + "\" (" + columns + ")";
}

}  // namespace vitrine::session::sql
