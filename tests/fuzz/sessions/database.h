// A session held in memory, to be changed by SQL and given back as bytes.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::fuzz {

struct Column {
  std::string name, type;
};

class Database {
 public:
  explicit Database(std::string_view bytes);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // False when the bytes are no database that SQLite can change.
  bool ok() const { return ok_; }
  // What SQLite refuses changes nothing; the next statement goes on.
  void run(const std::string& sql);
  // Binds `text` or `blob` to ?1.
  void run_text(const std::string& sql, std::string_view text);
  void run_blob(const std::string& sql, std::string_view blob);
  // First column of every row, at most `limit`.
  std::vector<int64_t> integers(const std::string& sql, size_t limit = 64);
  std::vector<std::string> tables();
  std::vector<Column> columns(const std::string& table);
  std::string bytes();

 private:
  void run_bound(const std::string& sql, std::string_view value, bool text);
  sqlite3* db_ = nullptr;
  bool ok_ = false;
};

// `bytes` with at most `rows` rows a table, in pages of 512 bytes: read a hundred times as fast, and with as
// many kinds of row. Returns "" when the bytes are no database.
std::string small_session(std::string_view bytes, int rows);

}  // namespace vitrine::fuzz
