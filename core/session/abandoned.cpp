#include "core/session/abandoned.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>

#include "core/session/reader.h"
#include "core/session/recorded.h"
#include "core/session/sql.h"
#include "core/session/writing_process.h"

namespace vitrine::session {

namespace {

int64_t unix_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

// Best effort: without it the session says that its engine died, and not how.
void tell_death(sqlite3* db, const Death& death) {
  if (death.text.empty()) return;
  MessageRow row;
  row.severity = "error";
  row.origin = "user";
  row.text = death.text, row.hint = death.hint, row.detail = death.words;
  sqlite3_stmt* st = nullptr;
  const char* facts =
      "SELECT (SELECT max(id) FROM message), id, started_unix_ns FROM run WHERE status = 'running' LIMIT 1";
  if (sqlite3_prepare_v2(db, facts, -1, &st, nullptr) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
    row.id = std::max<Id>(sqlite3_column_int64(st, 0), make_id(Kind::Message, 0)) + 1;
    row.run = sqlite3_column_int64(st, 1);
    row.time_ns = std::max<int64_t>(0, unix_ns() - sqlite3_column_int64(st, 2));
  }
  sqlite3_finalize(st);
  if (!row.id) return;
  std::string marks;
  MessageRow::each(row, [&](const char*, auto&) { marks += marks.empty() ? "?" : ", ?"; });
  const std::string text =
      "INSERT INTO message (" + sql::column_list<MessageRow>() + ") VALUES (" + marks + ")";
  if (sqlite3_prepare_v2(db, text.c_str(), -1, &st, nullptr) == SQLITE_OK) {
    int i = 0;
    MessageRow::each(row, [&](const char*, auto& field) { sql::bind(st, ++i, field); });
    sqlite3_step(st);
  }
  sqlite3_finalize(st);
}

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

Result<bool> close_abandoned(const std::string& path, Whose whose, Abandonment how, const Death& death) {
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
      tell_death(db, death);
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
