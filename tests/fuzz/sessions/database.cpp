#include "tests/fuzz/sessions/database.h"

#include <cstring>

#include "tests/fuzz/sessions/session_file.h"

namespace vitrine::fuzz {

namespace {
// Opcodes a statement may take: a recursive view that an earlier mutation left ends here.
constexpr int kOpcodes = 2000000;

int give_up(void*) {
  return 1;
}
}  // namespace

Database::Database(std::string_view bytes) {
  if (bytes.size() < 512 || sqlite3_open(":memory:", &db_) != SQLITE_OK) return;
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  if (!copy) return;
  std::memcpy(copy, bytes.data(), bytes.size());
  copy[18] = copy[19] = 1;  // a log beside it cannot be held in memory
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  ok_ = sqlite3_deserialize(db_, "main", copy, size, size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK;
  sqlite3_progress_handler(db_, kOpcodes, give_up, nullptr);
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, 64 << 20);
  ok_ = ok_ && !tables().empty();
}

Database::~Database() {
  sqlite3_close(db_);
}

void Database::run(const std::string& sql) {
  sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
}

void Database::run_bound(const std::string& sql, std::string_view value, bool text) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return;
  const auto size = static_cast<sqlite3_uint64>(value.size());
  if (text)
    sqlite3_bind_text64(statement, 1, value.data(), size, SQLITE_TRANSIENT, SQLITE_UTF8);
  else
    sqlite3_bind_blob64(statement, 1, value.data(), size, SQLITE_TRANSIENT);
  sqlite3_step(statement);
  sqlite3_finalize(statement);
}

void Database::run_text(const std::string& sql, std::string_view text) {
  run_bound(sql, text, true);
}

void Database::run_blob(const std::string& sql, std::string_view blob) {
  run_bound(sql, blob, false);
}

std::vector<int64_t> Database::integers(const std::string& sql, size_t limit) {
  std::vector<int64_t> out;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return out;
  while (out.size() < limit && sqlite3_step(statement) == SQLITE_ROW)
    out.push_back(sqlite3_column_int64(statement, 0));
  sqlite3_finalize(statement);
  return out;
}

std::vector<std::string> Database::tables() {
  std::vector<std::string> out;
  sqlite3_stmt* statement = nullptr;
  const char* sql =
      "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid";
  if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK) return out;
  while (sqlite3_step(statement) == SQLITE_ROW)
    if (const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)))
      out.emplace_back(name);
  sqlite3_finalize(statement);
  return out;
}

std::vector<Column> Database::columns(const std::string& table) {
  std::vector<Column> out;
  sqlite3_stmt* statement = nullptr;
  const std::string sql = "SELECT name, type FROM pragma_table_info('" + table + "')";
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return out;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    const auto* type = reinterpret_cast<const char*>(sqlite3_column_text(statement, 1));
    if (name && type) out.push_back({name, type});
  }
  sqlite3_finalize(statement);
  return out;
}

std::string Database::bytes() {
  sqlite3_int64 size = 0;
  unsigned char* data = sqlite3_serialize(db_, "main", &size, 0);
  if (!data) return "";
  std::string out(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  sqlite3_free(data);
  return out;
}

std::string small_session(std::string_view bytes, int rows) {
  // In a file: the pages of a database in memory keep their size.
  const SessionFile file;
  {
    Database db(bytes);
    if (!db.ok()) return "";
    for (const std::string& table : db.tables())
      db.run("DELETE FROM \"" + table + "\" WHERE rowid > (SELECT rowid FROM \"" + table +
             "\" LIMIT 1 OFFSET " + std::to_string(rows) + ")");
    file.write(db.bytes());
  }
  sqlite3* db = nullptr;
  if (sqlite3_open(file.path().c_str(), &db) == SQLITE_OK)
    sqlite3_exec(db, "PRAGMA page_size=512; VACUUM", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  return read_file(file.path());
}

}  // namespace vitrine::fuzz
