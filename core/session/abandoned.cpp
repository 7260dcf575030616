#include "core/session/abandoned.h"

#include <sqlite3.h>

#include "core/session/reader.h"
#include "core/session/writing_process.h"

namespace vitrine::session {

Result<bool> close_abandoned(const std::string& path) {
  {
    auto opened = Reader::open(path);
    if (!opened) return opened.error();
    if (opened.value()->meta("status") != "running") return false;
  }
  sqlite3* db = nullptr;
  std::string problem;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK)
    problem = sqlite3_errmsg(db);
  sqlite3_busy_timeout(db, 2000);
  for (const char* text : {"UPDATE meta SET value = 'died' WHERE key = 'status'",
                           "UPDATE run SET status = 'died' WHERE status = 'running'",
                           "UPDATE compilation SET status = 'cancelled' WHERE status = 'running'"}) {
    if (problem.empty() && sqlite3_exec(db, text, nullptr, nullptr, nullptr) != SQLITE_OK)
      problem = sqlite3_errmsg(db);
  }
  // Another reader may hold the log; then the next opening tidies up.
  sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  sqlite3_exec(db, "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  if (!problem.empty()) return Error{"The session cannot be marked as ended: " + problem, "", path};
  return true;
}

void close_if_abandoned(const std::string& path) {
  {
    auto opened = Reader::open(path);
    if (!opened || opened.value()->meta("status") != "running" || !has_ended(opened.value()->meta("writer")))
      return;
  }
  (void)close_abandoned(path);
}

}  // namespace vitrine::session
