#include "core/session/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <functional>

#include "core/session/guarded_files.h"
#include "core/session/opening.h"
#include "core/session/recorded.h"
#include "core/session/schema.h"
#include "core/session/sql.h"
#include "core/session/writing_process.h"

namespace vitrine::session {

namespace {
constexpr size_t kCompressFrom = 256;  // shorter text gains nothing from zstd
constexpr int kZstdLevel = 3;
}  // namespace

Status check_replaceable(const std::string& path) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0 || (S_ISREG(st.st_mode) && st.st_size == 0)) return std::nullopt;
  const char* hint = "Name another place with -o.";
  if (S_ISDIR(st.st_mode))
    return Error{"The session cannot be written: " + path + " is a folder.", hint, path};
  if (!S_ISREG(st.st_mode))  // a pipe would make us wait for its other end
    return Error{"The session cannot be written: " + path + " is no file.", hint, path};
  std::array<unsigned char, 100> head{};
  std::FILE* file = std::fopen(path.c_str(), "rb");
  const size_t n = file ? std::fread(head.data(), 1, head.size(), file) : 0;
  if (file) std::fclose(file);
  uint32_t id = 0;
  for (size_t i = 68; i < 72; ++i) id = id << 8 | head[i];  // SQLite keeps the application id here
  if (n == head.size() && std::memcmp(head.data(), "SQLite format 3", 16) == 0 && id == kApplicationId)
    return std::nullopt;
  return Error{path + " exists and is not a Vitrine session; it is left as it is.", hint, path};
}

void remove_session(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
}

namespace {
// A file of this process's own making, which nobody else reads: a session holds what the user's code holds.
bool make_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}
}  // namespace

Result<std::unique_ptr<Writer>> Writer::create(const std::string& path) {
  if (Status bad = check_replaceable(path)) return *bad;
  remove_session(path);
  if (!make_file(path))
    return Error{"The session file cannot be written: " + std::string(std::strerror(errno)),
                 "Name another place with -o, or make the folder writable.", path};
  auto made = begin_in(path);
  if (!made) remove_session(path);  // a part of a header serves nobody
  return made;
}

Result<std::unique_ptr<Writer>> Writer::begin_in(const std::string& path) {
  std::unique_ptr<Writer> w(new Writer);
  w->path_ = path;
  w->pid_ = getpid();
  if (sqlite3_open_v2(path.c_str(), &w->db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                      guarded_files()) != SQLITE_OK) {
    return Error{"The session file cannot be written: " + std::string(sqlite3_errmsg(w->db_)),
                 "Name another place with -o, or make the folder writable.", path};
  }
  harden(w->db_);
  // No file of a rollback journal, ever: one that lies beside a session is somebody else's.
  for (const std::string& sql :
       {std::string("PRAGMA journal_mode=MEMORY"), std::string("PRAGMA page_size=8192"),
        "PRAGMA application_id=" + std::to_string(kApplicationId),
        "PRAGMA user_version=" + std::to_string(kSchemaVersion), std::string("PRAGMA journal_mode=WAL"),
        std::string("PRAGMA synchronous=NORMAL")}) {
    if (sqlite3_exec(w->db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      return Error{"The session file cannot be written: " + std::string(sqlite3_errmsg(w->db_)),
                   "Name another place with -o.", path};
    }
  }
  try {
    w->begin_session();
  } catch (const InternalError&) {  // the disk is full, or the file may not grow
    return Error{"The session file cannot be written: " + std::string(sqlite3_errmsg(w->db_)),
                 "Name another place with -o.", path};
  }
  mark_being_recorded(path);
  return w;
}

// Its tables, and that it is being written. Throws what SQLite refuses.
void Writer::begin_session() {
  begin();  // all of it, or nothing that could be taken for a session
#define X(Row) exec(sql::create_statement<Row>().c_str());
  VITRINE_TABLES(X)
#undef X
  for (const char* index : kIndexes) exec(index);
  meta("schema_version", std::to_string(kSchemaVersion));
  meta("status", "running");
  meta("writer", writing_process());
  commit();
}

Writer::~Writer() {
  if (db_ && getpid() == pid_ && !finished_ && in_transaction_)
    sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr);  // what a full disk refuses is lost
  for (auto& [key, st] : statements_) sqlite3_finalize(st);
  if (getpid() == pid_) sqlite3_close(db_);
}

void Writer::exec(const char* sql) {
  char* message = nullptr;
  if (sqlite3_exec(db_, sql, nullptr, nullptr, &message) != SQLITE_OK) {
    std::string text = message ? message : "unknown";
    sqlite3_free(message);
    throw InternalError("session: " + text + " in " + sql);
  }
}

sqlite3_stmt* Writer::statement(const char* table, const std::string& text) {
  auto it = statements_.find(table);
  if (it != statements_.end()) return it->second;
  sqlite3_stmt* st = nullptr;
  if (sqlite3_prepare_v2(db_, text.c_str(), -1, &st, nullptr) != SQLITE_OK)
    throw InternalError("session: " + std::string(sqlite3_errmsg(db_)) + " in " + text);
  statements_.emplace(table, st);
  return st;
}

void Writer::begin() {
  VITRINE_CHECK(getpid() == pid_, "a forked child must not write its parent's session");
  VITRINE_CHECK(!finished_, "session is finished");
  if (!in_transaction_) exec("BEGIN");
  in_transaction_ = true;
}

void Writer::run(sqlite3_stmt* st) {
  int rc = sqlite3_step(st);
  sqlite3_reset(st);
  if (rc != SQLITE_DONE) throw InternalError("session: " + std::string(sqlite3_errmsg(db_)));
}

template <class Row>
void Writer::put(const Row& row) {
  begin();
  sqlite3_stmt* st = nullptr;
  auto it = statements_.find(Row::table);
  if (it != statements_.end()) {
    st = it->second;
  } else {
    std::string marks;
    Row::each(row, [&](const char*, auto&) { marks += marks.empty() ? "?" : ",?"; });
    st = statement(Row::table, "INSERT OR REPLACE INTO \"" + std::string(Row::table) + "\" (" +
                                   sql::column_list<Row>() + ") VALUES (" + marks + ")");
  }
  int i = 0;
  Row::each(row, [&](const char*, auto& field) { sql::bind(st, ++i, field); });
  run(st);
}

#define X(Row) template void Writer::put<Row>(const Row&);
VITRINE_TABLES(X)
#undef X

BlobRef Writer::blob(std::string_view content) {
  if (content.empty()) return {};
  std::string key(content);
  if (auto it = blob_by_content_.find(key); it != blob_by_content_.end()) return {it->second};
  BlobRow row;
  row.id = ++blobs_;
  row.raw_bytes = static_cast<int64_t>(content.size());
  row.encoding = "raw";
  if (content.size() >= kCompressFrom) {
    row.data.resize(ZSTD_compressBound(content.size()));
    size_t n = ZSTD_compress(row.data.data(), row.data.size(), content.data(), content.size(), kZstdLevel);
    if (!ZSTD_isError(n)) {
      row.data.resize(n);
      row.encoding = "zstd";
    }
  }
  if (row.encoding == "raw") row.data.assign(content.begin(), content.end());
  put(row);
  if (content.size() < 1 << 20) blob_by_content_.emplace(std::move(key), row.id);
  return {row.id};
}

void Writer::link(Id origin, Id derived) {
  if (origin && derived) put(LinkRow{origin, derived});
}

void Writer::meta(const std::string& key, const std::string& value) {
  put(MetaRow{key, value});
}

int64_t Writer::name(const std::string& text, const std::string& family) {
  auto [it, added] = name_by_text_.try_emplace(text + '\0' + family, names_ + 1);
  if (added) put(NameRow{++names_, text, family});
  return it->second;
}

void Writer::commit() {
  if (in_transaction_) exec("COMMIT");
  in_transaction_ = false;
}

void Writer::finish(const std::string& status, bool ours) {
  if (finished_) return;
  meta("status", status);
  commit();
  for (auto& [key, st] : statements_) sqlite3_finalize(st);
  statements_.clear();
  const bool one_file = leave_log(db_);
  sqlite3_close(db_);
  db_ = nullptr;
  finished_ = true;
  if (!ours)
    forget_being_recorded(path_);
  else if (one_file)
    mark_recorded(path_);
}

}  // namespace vitrine::session
