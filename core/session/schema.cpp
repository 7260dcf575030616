#include "core/session/schema.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/session/sql.h"

namespace vitrine::session {

namespace {

using Declared = std::vector<std::pair<std::string, std::string>>;  // name and type of each column, in order

std::map<std::string, Declared, std::less<>> declared_tables() {
  std::map<std::string, Declared, std::less<>> out;
#define X(Row)                                                     \
  {                                                                \
    Declared& columns = out[Row::table];                           \
    Row row;                                                       \
    Row::each(row, [&](const char* name, auto& field) {            \
      columns.emplace_back(name, sql::declared_type(name, field)); \
    });                                                            \
  }
  VITRINE_TABLES(X)
#undef X
  return out;
}

// Takes the text off the front, or gives false.
bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

// The column names of `CREATE TABLE "name" ("column" TYPE, ...)`; nothing where it says anything else.
// Columns may be missing, as in an older session, and stand in our order.
std::optional<std::vector<std::string>> plain_columns(std::string_view sql, const std::string& table,
                                                      const Declared& declared) {
  std::vector<std::string> out;
  if (!take(sql, "CREATE TABLE \"" + table + "\" (")) return std::nullopt;
  for (const auto& [name, type] : declared) {
    std::string_view rest = sql;
    if (!out.empty() && !take(rest, ", ")) break;
    if (!take(rest, "\"" + name + "\" " + type) || !(rest.starts_with(", ") || rest == ")")) continue;
    out.push_back(name);
    sql = rest;
  }
  return sql == ")" && !out.empty() ? std::optional(std::move(out)) : std::nullopt;
}

std::string text(sqlite3_stmt* st, int i) {
  std::string out;
  sql::column(st, i, out);
  return out;
}

Error alien(const std::string& type, const std::string& name, const char* what) {
  return Error{"the " + type + " \"" + name + "\" " + what, "", ""};
}

}  // namespace

Result<Columns> check_schema(sqlite3* db) {
  const auto declared = declared_tables();
  Columns out;
  sqlite3_stmt* st = nullptr;
  std::optional<Error> bad;
  int rc = sqlite3_prepare_v2(db, "SELECT type, name, sql FROM sqlite_schema", -1, &st, nullptr);
  while (rc == SQLITE_OK && !bad && (rc = sqlite3_step(st)) == SQLITE_ROW) {
    rc = SQLITE_OK;
    const std::string type = text(st, 0), name = text(st, 1), sql = text(st, 2);
    if (type == "table") {
      const auto known = declared.find(name);
      if (known == declared.end()) {
        bad = alien(type, name, "does not belong to a session");
      } else if (auto columns = plain_columns(sql, name, known->second)) {
        out[name] = std::move(*columns);
      } else {
        bad = alien(type, name, "has columns or conditions that no Vitrine writes");
      }
    } else if (type != "index" || std::find(kIndexes.begin(), kIndexes.end(), sql) == kIndexes.end()) {
      bad = alien(type, name, "does not belong to a session");
    }
  }
  if (!bad && rc != SQLITE_DONE)
    bad = Error{std::string("the file is damaged or truncated (") + sqlite3_errmsg(db) + ")", "", ""};
  sqlite3_finalize(st);
  if (bad) return *bad;
  return out;
}

}  // namespace vitrine::session
