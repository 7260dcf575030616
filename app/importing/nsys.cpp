// Exports of Nsight Systems (`nsys export --type sqlite`): kernels, copies, calls of CUDA's API and ranges.
// Its tables are made as they are needed, so each may be missing. The file is opened for reading alone, and
// its schema runs nothing.
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "app/importing/input.h"
#include "app/importing/session_builder.h"

namespace vitrine::importing {

namespace {

constexpr size_t kMostSlices = 10'000'000;
constexpr int64_t kMostOperations = 4'000'000'000;  // of SQLite's machine
constexpr int kLook = 10'000;

struct ClosesDb {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct Finishes {
  void operator()(sqlite3_stmt* st) const { sqlite3_finalize(st); }
};
using Db = std::unique_ptr<sqlite3, ClosesDb>;
using Question = std::unique_ptr<sqlite3_stmt, Finishes>;

int count_down(void* left) {
  return (*static_cast<int64_t*>(left) -= kLook) < 0;
}

// Only SELECT of tables: a view or a trigger of the file's author is never run.
int only_reading(void*, int action, const char*, const char*, const char*, const char* inside) {
  if (inside) return SQLITE_DENY;
  return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ? SQLITE_OK
                                                                                       : SQLITE_DENY;
}

Db open_db(const std::string& path, int64_t* left) {
  sqlite3* raw = nullptr;
  const std::string full = std::filesystem::absolute(path).string();
  if (sqlite3_open_v2(full.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
    sqlite3_close_v2(raw);
    return nullptr;
  }
  Db db(raw);
  for (const auto& [which, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                     {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                     {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                     {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                     {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}})
    sqlite3_db_config(raw, which, value, nullptr);
  for (const char* text : {"PRAGMA cell_size_check=1", "PRAGMA mmap_size=0", "PRAGMA query_only=1"})
    sqlite3_exec(raw, text, nullptr, nullptr, nullptr);
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, 100 << 20);
  sqlite3_limit(raw, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_set_authorizer(raw, only_reading, nullptr);
  sqlite3_progress_handler(raw, kLook, count_down, left);
  return db;
}

Question ask(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* st = nullptr;
  sqlite3_prepare_v2(db, sql.c_str(), -1, &st, nullptr);
  return Question(st);
}

std::string text(sqlite3_stmt* st, int i, size_t most = 300) {
  const auto* at = reinterpret_cast<const char*>(sqlite3_column_text(st, i));
  return std::string(at ? at : "").substr(0, most);
}

struct NsysTable {
  const char *sql, *kind, *label, *family;
};
// start, end, name (a text, or a row of StringIds), lane.
constexpr NsysTable kTables[] = {
    {"SELECT start, end, shortName, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL", "stream", "stream ", ""},
    {"SELECT start, end, 'copy of ' || bytes || ' B', streamId FROM CUPTI_ACTIVITY_KIND_MEMCPY", "stream",
     "stream ", "memory"},
    {"SELECT start, end, 'set of ' || bytes || ' B', streamId FROM CUPTI_ACTIVITY_KIND_MEMSET", "stream",
     "stream ", "memory"},
    {"SELECT start, end, nameId, globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME", "api", "thread ", ""},
    {"SELECT start, end, coalesce(text, textId), globalTid FROM NVTX_EVENTS WHERE end IS NOT NULL", "range",
     "thread ", ""},
    {"SELECT start, end, nameId, globalTid FROM OSRT_API", "wait", "thread ", ""},
};

}  // namespace

bool is_nsys(const std::string& path) {
  if (!first_bytes(path, 16).starts_with("SQLite format 3")) return false;
  int64_t left = 50'000'000;
  const Db db = open_db(path, &left);
  const Question st = db ? ask(db.get(),
                               "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND (name = "
                               "'StringIds' OR name LIKE 'CUPTI_%' OR name = 'NVTX_EVENTS')")
                         : nullptr;
  return st && sqlite3_step(st.get()) == SQLITE_ROW && sqlite3_column_int64(st.get(), 0) >= 2;
}

Status import_nsys(const std::string& path, SessionBuilder& out) {
  int64_t left = kMostOperations;
  const Db db = open_db(path, &left);
  if (!db) return Error{"The file cannot be read.", "Check its permissions.", path};
  std::map<int64_t, std::string> strings;
  if (const Question st = ask(db.get(), "SELECT id, value FROM StringIds"))
    while (strings.size() < 2'000'000 && sqlite3_step(st.get()) == SQLITE_ROW)
      strings[sqlite3_column_int64(st.get(), 0)] = text(st.get(), 1);
  if (const Question st = ask(db.get(), "SELECT name FROM TARGET_INFO_GPU LIMIT 1");
      st && sqlite3_step(st.get()) == SQLITE_ROW)
    out.run.device = text(st.get(), 0, 100);
  std::map<std::pair<std::string, std::string>, std::vector<ImportedSlice>> lanes;
  int64_t first = INT64_MAX;
  size_t count = 0;
  for (const NsysTable& table : kTables) {
    const Question st = ask(db.get(), table.sql);
    while (st && count < kMostSlices && lanes.size() < 2000 && sqlite3_step(st.get()) == SQLITE_ROW) {
      const int64_t start = sqlite3_column_int64(st.get(), 0), end = sqlite3_column_int64(st.get(), 1);
      if (start < 0 || end < start) continue;
      std::string name = text(st.get(), 2);
      if (sqlite3_column_type(st.get(), 2) == SQLITE_INTEGER)
        if (const auto found = strings.find(sqlite3_column_int64(st.get(), 2)); found != strings.end())
          name = found->second;
      const bool matmul = name.find("gemm") != std::string::npos || name.find("cutlass") != std::string::npos;
      const std::string family = *table.family                         ? table.family
                                 : matmul                              ? "matmul"
                                 : std::string(table.kind) == "stream" ? "pointwise"
                                                                       : "";
      lanes[{table.kind, table.label + text(st.get(), 3, 40)}].push_back(
          {start, end - start, out.out().name(name, family)});
      first = std::min(first, start);
      ++count;
    }
  }
  for (auto& [key, slices] : lanes) {
    for (ImportedSlice& slice : slices) slice.start -= first;
    out.lane("compiled", key.first, key.second, std::move(slices));
  }
  if (count >= kMostSlices)
    out.note("warning", "Only the first " + std::to_string(kMostSlices) + " slices were read.");
  if (left < 0) out.note("warning", "Reading it took too long: a part of it is missing.");
  return std::nullopt;
}

}  // namespace vitrine::importing
