#include "core/session/abandoned.h"

#include <sqlite3.h>

#include "core/session/reader.h"
#include "core/session/recorded.h"
#include "core/session/writing_process.h"

namespace vitrine::session {

namespace {

// Errors are SQLite's words.
Status mark_as_ended(sqlite3* db, Abandonment how) {
  const std::string status = how == Abandonment::Cancelled ? "'cancelled'" : "'died'";
  for (const std::string& text : {"UPDATE meta SET value = " + status + " WHERE key = 'status'",
                                  "UPDATE run SET status = " + status + " WHERE status = 'running'",
                                  std::string("UPDATE compilation SET status = 'cancelled' WHERE status = "
                                              "'running'")})
    if (sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return Error{"The session cannot be marked as ended: " + std::string(sqlite3_errmsg(db)), "", ""};
  return std::nullopt;
}

}  // namespace

Result<bool> close_abandoned(const std::string& path, Whose whose, Abandonment how) {
  bool running = false;
  {
    auto opened = Reader::open(path, whose);
    if (!opened) return opened.error();
    running = opened.value()->meta("status") == "running";
  }
  // An engine that ended without closing may have left no log.
  if (!is_unfinished(path, whose) && !(running && whose == Whose::Mine)) return false;
  bool one_file = false;
  {
    auto opened = open_unfinished(path);
    if (!opened) return opened.error();
    sqlite3* db = opened.value().db.get();
    if (running) {
      if (Status bad = mark_as_ended(db, how)) return Error{bad->what, bad->hint, path};
    }
    one_file = leave_log(db);  // not while another reader holds the log: then the next opening tidies up
  }
  if (one_file) mark_recorded(path);
  return running;
}

void close_if_abandoned(const std::string& path) {
  if (!is_unfinished(path, Whose::Found)) return;
  {
    auto opened = Reader::open(path);
    if (!opened || !has_ended(opened.value()->meta("writer"))) return;
  }
  (void)close_abandoned(path);
}

}  // namespace vitrine::session
