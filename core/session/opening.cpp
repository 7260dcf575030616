#include "core/session/opening.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/base/words.h"
#include "core/session/guarded_files.h"
#include "core/session/recorded.h"
#include "core/session/rows.h"

namespace vitrine::session {

namespace {

constexpr int64_t kMB = 1 << 20;
constexpr int64_t kSchemaOperations = 100'000;
constexpr int kOperationsAStep = 1000;  // between two looks at what is left

Error refused(const std::string& path, const std::string& why, const std::string& hint) {
  return Error{"This is not a session that can be opened: " + why + ".", hint, path};
}

// Of a file of a stranger's: in proportion to its size, so that a small file cannot cost much. The rows of an
// honest session take at most 3.5 times what they take in the file, its texts two thirds of this.
Limits stranger_limits(int64_t bytes) {
  Limits out;
  out.row_bytes = 16 * kMB + 4 * bytes;
  out.text_bytes = 24 * kMB + 8 * bytes;
  out.one_text = std::min(16 * kMB + 8 * bytes, std::max(48 * kMB, bytes));
  out.operations = 150'000'000 + 20 * bytes;
  return out;
}

const char* kind_word(mode_t mode) {
  return S_ISDIR(mode)    ? "it is a folder"
         : S_ISFIFO(mode) ? "it is a pipe"
         : S_ISSOCK(mode) ? "it is a socket"
                          : "it is a device";
}

Status check_kind(const std::string& path, const struct stat& st) {
  if (S_ISREG(st.st_mode)) return std::nullopt;
  return refused(path, kind_word(st.st_mode), "Name a .vitrine file.");
}

// A file that is open for as long as SQLite needs to open it by its descriptor.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : value_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (value_ >= 0) close(value_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

uint32_t big_endian(const unsigned char* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}

// SQLite's header, before SQLite sees it: the format, whose it is, and of what version.
Status check_header(const std::string& path, int file, int64_t size) {
  std::array<unsigned char, 100> head{};
  const ssize_t got = pread(file, head.data(), head.size(), 0);
  if (got < 0) return refused(path, "the file cannot be read", "Check its permissions.");
  const auto n = static_cast<size_t>(got);
  if (n == 0) return refused(path, "the file is empty", "Record it again.");
  constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  if (!kMagic.starts_with({reinterpret_cast<const char*>(head.data()), std::min(n, kMagic.size())}))
    return refused(path, "it has another format", "Vitrine opens .vitrine files made by `vitrine run`.");
  if (n < head.size())
    return refused(path, "the file is truncated (" + std::to_string(n) + " bytes)", "Record it again.");
  if (big_endian(&head[68]) != static_cast<uint32_t>(kApplicationId))
    return refused(path, "it is a database, but not a Vitrine session",
                   "Vitrine opens .vitrine files made by `vitrine run`.");
  if (const uint32_t version = big_endian(&head[60]); version > kSchemaVersion)
    return refused(path,
                   "it was written by a newer Vitrine (schema " + std::to_string(version) +
                       ", this one reads up to " + std::to_string(kSchemaVersion) + ")",
                   "Update Vitrine.");
  const int64_t page = head[16] == 0 && head[17] == 1 ? 65536 : head[16] << 8 | head[17];
  const bool fits = page >= 512 && (page & (page - 1)) == 0 && int64_t{big_endian(&head[28])} * page <= size;
  const bool plain = head[20] == 0 && big_endian(&head[56]) == 1 && big_endian(&head[60]) >= 1;  // UTF-8
  if (!fits || !plain) return refused(path, "the file is damaged or truncated", "Record it again.");
  return std::nullopt;
}

bool has_content(const std::string& path) {
  struct stat st{};
  return lstat(path.c_str(), &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > 0);
}

// A log or a journal beside a stranger's file would be part of it, and is read by nobody.
Status check_neighbours(const std::string& path) {
  for (const char* suffix : {"-wal", "-journal"})
    if (has_content(path + suffix))
      return refused(path,
                     "it was not closed by its writer, and what stands in " + file_name(path) + suffix +
                         " is not read of a stranger",
                     suffix == std::string_view("-wal")
                         ? "Open it when its run has ended. If it is your own: vitrine trust FILE."
                         : "Vitrine writes no such file: whoever sent it can tell why it is there.");
  return std::nullopt;
}

int count_down(void* left) {
  return (*static_cast<int64_t*>(left) -= kOperationsAStep) < 0;
}

void limit(sqlite3* db, int64_t bytes) {
  const std::array<std::pair<int, int64_t>, 11> rows = {{
      {SQLITE_LIMIT_LENGTH, bytes},  // no value is larger than the file
      {SQLITE_LIMIT_SQL_LENGTH, 20'000},
      {SQLITE_LIMIT_COLUMN, 64},
      {SQLITE_LIMIT_EXPR_DEPTH, 30},
      {SQLITE_LIMIT_COMPOUND_SELECT, 2},
      {SQLITE_LIMIT_VDBE_OP, 100'000},
      {SQLITE_LIMIT_FUNCTION_ARG, 8},
      {SQLITE_LIMIT_ATTACHED, 0},
      {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
      {SQLITE_LIMIT_VARIABLE_NUMBER, 64},
      {SQLITE_LIMIT_WORKER_THREADS, 0},
  }};
  for (const auto& [which, value] : rows) sqlite3_limit(db, which, static_cast<int>(value));
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

// "" or what is wrong with the file's pages.
std::string check_pages(sqlite3* db) {
  sqlite3_stmt* st = nullptr;
  std::string problem;
  if (sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, nullptr) != SQLITE_OK ||
      sqlite3_step(st) != SQLITE_ROW) {
    problem = sqlite3_errmsg(db);
  } else if (const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(st, 0));
             text && std::string_view(text) != "ok") {
    problem = text;
  }
  sqlite3_finalize(st);
  return problem;
}

// Connects, and asks nothing yet.
Status connect(OpenedSession& out, const std::string& path, const std::string& name, int flags,
               int64_t bytes) {
  sqlite3* db = nullptr;
  const char* files = guarded_files();
  // A Reader is one thread's at a time: no lock is needed around each column of each row.
  flags |= SQLITE_OPEN_NOMUTEX;
  int rc = files ? sqlite3_open_v2(name.c_str(), &db, flags, files) : SQLITE_ERROR;
  if (rc != SQLITE_OK && (flags & SQLITE_OPEN_READWRITE)) {
    sqlite3_close(db);
    rc = files ? sqlite3_open_v2(name.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, files)
               : SQLITE_ERROR;
  }
  out.db.reset(db);
  if (rc != SQLITE_OK)
    return refused(path, db ? sqlite3_errmsg(db) : "the file cannot be read", "Check its permissions.");
  harden(db);
  limit(db, bytes);
  out.operations = std::make_unique<int64_t>(kSchemaOperations);
  sqlite3_progress_handler(db, kOperationsAStep, count_down, out.operations.get());
  return std::nullopt;
}

// The first questions to a file that SQLite has open: is it a session, and whole.
Status check_content(OpenedSession& out, const std::string& path) {
  sqlite3* db = out.db.get();
  const int64_t application = pragma(db, "application_id"), version = pragma(db, "user_version");
  if (application < 0)
    return refused(path, std::string("the file is damaged or truncated (") + sqlite3_errmsg(db) + ")",
                   "Record it again.");
  if (application != kApplicationId || version < 1 || version > kSchemaVersion)
    return refused(path, "it is no session of this Vitrine's", "Record it again.");
  auto columns = check_schema(db);
  if (!columns)
    return refused(path, columns.error().what,
                   "Record it again, or ask whoever sent it for the file as `vitrine run` left it.");
  out.columns = columns.take();
  *out.operations = out.limits.operations;
  // What is as it was when it was recorded here, is whole: only of other files each page is read first.
  const bool known = out.trusted && !out.live;
  if (const std::string problem = known ? "" : check_pages(db); !problem.empty())
    return refused(path, "the file is damaged or truncated (" + problem + ")", "Record it again.");
  if (!out.columns.contains("meta")) return refused(path, "it has no schema version", "Record it again.");
  return std::nullopt;
}

// A file that nobody writes: through the descriptor that was checked, so that no other can take its place.
Result<OpenedSession> open_closed(const std::string& path) {
  const OpenFile file(path);
  struct stat st{};
  if (file.get() < 0 || fstat(file.get(), &st) != 0) {
    if (errno == ENXIO) return refused(path, "it is a socket or a device", "Name a .vitrine file.");
    return refused(path, "the file cannot be read", "Check its permissions.");
  }
  if (Status bad = check_kind(path, st)) return *bad;
  if (Status bad = check_header(path, file.get(), st.st_size)) return *bad;
  OpenedSession out;
  out.trusted = is_recorded(file.get());
  if (!out.trusted) {
    if (Status bad = check_neighbours(path)) return *bad;
    out.limits = stranger_limits(st.st_size);
  }
  const int64_t longest = std::clamp<int64_t>(st.st_size, kMB, 1'000'000'000);
  if (Status bad = connect(out, path, name_of_descriptor(file.get()), SQLITE_OPEN_READONLY, longest))
    return *bad;
  if (Status bad = check_content(out, path)) return *bad;
  return out;
}

// A file that its writer goes on with, or its log would be lost: by its name, since the log has it too. No
// descriptor of it is opened besides: closing that would let go of every lock that this process has on it.
Result<OpenedSession> open_live(const std::string& path) {
  OpenedSession out;
  out.trusted = out.live = true;
  if (Status bad = connect(out, path, path, SQLITE_OPEN_READWRITE, 1'000'000'000)) return *bad;
  if (Status bad = check_content(out, path)) return *bad;
  return out;
}

}  // namespace

void OpenedSession::Closes::operator()(sqlite3* db) const {
  sqlite3_close_v2(db);
}

void harden(sqlite3* db) {
  for (const auto& [which, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                     {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                     {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                     {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                     {SQLITE_DBCONFIG_ENABLE_FKEY, 0},
                                     {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                     {SQLITE_DBCONFIG_DQS_DDL, 0},
                                     {SQLITE_DBCONFIG_DQS_DML, 0}})
    sqlite3_db_config(db, which, value, nullptr);
  sqlite3_busy_timeout(db, 2000);
  for (const char* text : {"PRAGMA cell_size_check=1", "PRAGMA mmap_size=0"})
    sqlite3_exec(db, text, nullptr, nullptr, nullptr);
}

bool leave_log(sqlite3* db) {
  sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  sqlite3_stmt* st = nullptr;
  bool left = false;
  if (sqlite3_prepare_v2(db, "PRAGMA journal_mode=MEMORY", -1, &st, nullptr) == SQLITE_OK &&
      sqlite3_step(st) == SQLITE_ROW) {
    const auto* mode = reinterpret_cast<const char*>(sqlite3_column_text(st, 0));
    left = mode && std::string_view(mode) == "memory";
  }
  sqlite3_finalize(st);
  return left;
}

bool is_unfinished(const std::string& path, Whose whose) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 100) return false;
  return being_recorded(path) || (whose == Whose::Mine && has_content(path + "-wal"));
}

Result<OpenedSession> open_session(const std::string& path, Whose whose) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0)
    return refused(path, "the file does not exist or cannot be read", "Check the path.");
  if (Status bad = check_kind(path, st)) return *bad;
  if (!is_unfinished(path, whose)) {
    auto out = open_closed(path);
    if (out && whose == Whose::Mine) out.value().trusted = true, out.value().limits = {};
    return out;
  }
  auto out = open_live(path);
  if (out) sqlite3_exec(out.value().db.get(), "PRAGMA query_only=1", nullptr, nullptr, nullptr);
  return out;
}

Result<OpenedSession> open_unfinished(const std::string& path) {
  return open_live(path);
}

Status trust_session(const std::string& path) {
  struct stat st{};
  if (stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && has_content(path + "-wal")) {
    mark_being_recorded(path);
    auto out = open_session(path);
    if (out) return std::nullopt;
    forget_being_recorded(path);
    return out.error();
  }
  {
    auto out = open_session(path);
    if (!out) return out.error();
    if (out.value().trusted) return std::nullopt;
  }
  mark_recorded(path);
  auto out = open_session(path);
  if (out && out.value().trusted) return std::nullopt;
  return Error{"That this session is trusted cannot be kept.",
               "The file must be your own, and ~/.local/state must be a folder that only you can write.",
               path};
}

}  // namespace vitrine::session
