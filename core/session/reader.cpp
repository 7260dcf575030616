#include "core/session/reader.h"

#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/session/sql.h"

namespace vitrine::session {

namespace {

constexpr int64_t kLargestBlob = int64_t{1} << 31;  // a larger claim is damage, not data

Error refused(const std::string& path, const std::string& why, const std::string& hint) {
  return Error{"This is not a session that can be opened: " + why + ".", hint, path};
}

// The first 16 bytes of every SQLite file; anything else is refused before SQLite sees it.
Status check_header(const std::string& path) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0)
    return refused(path, "the file does not exist or cannot be read", "Check the path.");
  if (S_ISDIR(st.st_mode)) return refused(path, "it is a folder", "Name a .vitrine file.");
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return refused(path, "the file cannot be read", "Check its permissions.");
  char head[100] = {};
  size_t n = std::fread(head, 1, sizeof head, file);
  std::fclose(file);
  if (n == 0) return refused(path, "the file is empty", "Record it again.");
  constexpr std::string_view kMagic = "SQLite format 3";
  if (!kMagic.starts_with(std::string_view(head, std::min(n, kMagic.size()))))
    return refused(path, "it has another format", "Vitrine opens .vitrine files made by `vitrine run`.");
  if (n < sizeof head)
    return refused(path, "the file is truncated (" + std::to_string(n) + " bytes)", "Record it again.");
  return std::nullopt;
}

// -1: the file cannot be read.
int64_t pragma(sqlite3* db, const char* name) {
  sqlite3_stmt* st = nullptr;
  int64_t value = -1;
  if (sqlite3_prepare_v2(db, (std::string("PRAGMA ") + name).c_str(), -1, &st, nullptr) == SQLITE_OK &&
      sqlite3_step(st) == SQLITE_ROW)
    value = sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  return value;
}

}  // namespace

Result<std::unique_ptr<Reader>> Reader::open(const std::string& path) {
  if (Status bad = check_header(path)) return *bad;
  std::unique_ptr<Reader> r(new Reader);
  r->path_ = path;
  // Read-write lets SQLite recover the log of an engine that was killed; query_only keeps us from changing
  // content.
  int rc = sqlite3_open_v2(path.c_str(), &r->db_, SQLITE_OPEN_READWRITE, nullptr);
  if (rc != SQLITE_OK) {
    sqlite3_close(r->db_);
    rc = sqlite3_open_v2(path.c_str(), &r->db_, SQLITE_OPEN_READONLY, nullptr);
  }
  if (rc != SQLITE_OK) return refused(path, sqlite3_errmsg(r->db_), "Check its permissions.");
  sqlite3_db_config(r->db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(r->db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(r->db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(r->db_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_busy_timeout(r->db_, 2000);
  sqlite3_exec(r->db_, "PRAGMA query_only=1", nullptr, nullptr, nullptr);
  const int64_t application = pragma(r->db_, "application_id");
  if (application < 0)
    return refused(path, std::string("the file is damaged or truncated (") + sqlite3_errmsg(r->db_) + ")",
                   "Record it again.");
  if (application != kApplicationId)
    return refused(path, "it is a database, but not a Vitrine session",
                   "Vitrine opens .vitrine files made by `vitrine run`.");
  int64_t version = pragma(r->db_, "user_version");
  if (version > kSchemaVersion)
    return refused(path,
                   "it was written by a newer Vitrine (schema " + std::to_string(version) +
                       ", this one reads up to " + std::to_string(kSchemaVersion) + ")",
                   "Update Vitrine.");
  sqlite3_stmt* st = nullptr;
  std::string problem;
  if (sqlite3_prepare_v2(r->db_, "PRAGMA quick_check(1)", -1, &st, nullptr) != SQLITE_OK ||
      sqlite3_step(st) != SQLITE_ROW) {
    problem = sqlite3_errmsg(r->db_);
  } else if (const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(st, 0));
             text && std::string_view(text) != "ok") {
    problem = text;
  }
  sqlite3_finalize(st);
  if (!problem.empty())
    return refused(path, "the file is damaged or truncated (" + problem + ")", "Record it again.");
  if (r->meta("schema_version").empty()) return refused(path, "it has no schema version", "Record it again.");
  return r;
}

Reader::~Reader() {
  sqlite3_close(db_);
}

template <class Row>
std::vector<Row> Reader::rows(const std::string& where, const std::vector<int64_t>& args,
                              const std::string& tail) const {
  std::string text = "SELECT " + sql::column_list<Row>() + " FROM \"" + std::string(Row::table) + "\"";
  if (!where.empty()) text += " WHERE " + where;
  if (!tail.empty()) text += " " + tail;
  std::vector<Row> out;
  sqlite3_stmt* st = nullptr;
  if (sqlite3_prepare_v2(db_, text.c_str(), -1, &st, nullptr) != SQLITE_OK) {
    const std::string why = sqlite3_errmsg(db_);
    // A file of before this table was introduced.
    if (why == "no such table: " + std::string(Row::table)) return out;
    damage_ = why + " in " + text;
    return out;
  }
  for (size_t i = 0; i < args.size(); ++i) sqlite3_bind_int64(st, static_cast<int>(i) + 1, args[i]);
  int rc = SQLITE_ROW;
  while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
    Row row;
    int i = 0;
    Row::each(row, [&](const char*, auto& field) { sql::column(st, i++, field); });
    out.push_back(std::move(row));
  }
  if (rc != SQLITE_DONE) damage_ = sqlite3_errmsg(db_);
  sqlite3_finalize(st);
  return out;
}

template <class Row>
Row Reader::row(Id id) const {
  auto found = rows<Row>("id = ?1", {id});
  return found.empty() ? Row{} : std::move(found.front());
}

#define X(Row)                                                                                 \
  template std::vector<Row> Reader::rows<Row>(const std::string&, const std::vector<int64_t>&, \
                                              const std::string&) const;                       \
  template Row Reader::row<Row>(Id) const;
VITRINE_TABLES(X)
#undef X

std::string Reader::meta(const std::string& key) const {
  sqlite3_stmt* st = nullptr;
  std::string value;
  if (sqlite3_prepare_v2(db_, "SELECT value FROM meta WHERE key = ?1", -1, &st, nullptr) == SQLITE_OK) {
    sql::bind(st, 1, key);
    if (sqlite3_step(st) == SQLITE_ROW) sql::column(st, 0, value);
  }
  sqlite3_finalize(st);
  return value;
}

std::string Reader::text(BlobRef ref) const {
  if (!ref.row) return "";
  BlobRow blob = row<BlobRow>(ref.row);
  if (blob.encoding != "zstd") return std::string(blob.data.begin(), blob.data.end());
  if (blob.raw_bytes < 0 || blob.raw_bytes > kLargestBlob) {
    damage_ = "a text claims an impossible size";
    return "";
  }
  std::string out(static_cast<size_t>(blob.raw_bytes), '\0');
  size_t n = ZSTD_decompress(out.data(), out.size(), blob.data.data(), blob.data.size());
  if (ZSTD_isError(n) || n != out.size()) {
    damage_ = "a compressed text is damaged";
    return "";
  }
  return out;
}

std::vector<Id> Reader::neighbours(Id id, bool forward) const {
  std::vector<Id> out;
  for (const LinkRow& link : rows<LinkRow>(forward ? "origin = ?1" : "derived = ?1", {id}))
    out.push_back(forward ? link.derived : link.origin);
  return out;
}

std::vector<Id> Reader::closure(Id id, bool forward) const {
  std::vector<Id> order;
  std::set<Id> seen{id};
  std::vector<Id> frontier{id};
  while (!frontier.empty()) {
    std::vector<Id> next;
    for (Id at : frontier) {
      for (Id n : neighbours(at, forward)) {
        if (seen.insert(n).second) next.push_back(n);
      }
    }
    order.insert(order.end(), next.begin(), next.end());
    frontier = std::move(next);
  }
  return order;
}

std::vector<Id> Reader::origins(Id id) const {
  return neighbours(id, false);
}
std::vector<Id> Reader::derived(Id id) const {
  return neighbours(id, true);
}
std::vector<Id> Reader::ancestors(Id id) const {
  return closure(id, false);
}
std::vector<Id> Reader::descendants(Id id) const {
  return closure(id, true);
}

int64_t Reader::change_count() const {
  return pragma(db_, "data_version");
}

}  // namespace vitrine::session
