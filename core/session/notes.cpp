#include "core/session/notes.h"

#include <sqlite3.h>

#include <charconv>

#include "core/session/reader.h"

namespace vitrine::session {

namespace {

constexpr std::string_view kPrefix = "note:";

std::string key_of(Id id) {
  return std::string(kPrefix) + std::to_string(id);
}

// Runs the statements with key and text bound, in one transaction.
Status change(const std::string& path, Id id, const std::string* text) {
  {
    auto opened = Reader::open(path);
    if (!opened) return opened.error();
    if (opened.value()->meta("status") == "running")
      return Error{"Notes wait until the run has ended: its engine still records.", "", path};
  }
  sqlite3* db = nullptr;
  std::string problem;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK)
    problem = sqlite3_errmsg(db);
  sqlite3_busy_timeout(db, 2000);
  auto run = [&](const char* sql, const std::string& key) {
    sqlite3_stmt* st = nullptr;
    if (!problem.empty()) return;
    if (sqlite3_prepare_v2(db, sql, -1, &st, nullptr) == SQLITE_OK) {
      if (!key.empty()) sqlite3_bind_text(st, 1, key.c_str(), -1, SQLITE_TRANSIENT);
      if (text && sqlite3_bind_parameter_count(st) > 1)
        sqlite3_bind_text(st, 2, text->c_str(), -1, SQLITE_TRANSIENT);
      if (sqlite3_step(st) != SQLITE_DONE) problem = sqlite3_errmsg(db);
    } else {
      problem = sqlite3_errmsg(db);
    }
    sqlite3_finalize(st);
  };
  run("BEGIN IMMEDIATE", "");
  run("DELETE FROM meta WHERE key = ?1", key_of(id));
  if (text) run("INSERT INTO meta (key, value) VALUES (?1, ?2)", key_of(id));
  run("COMMIT", "");
  sqlite3_close(db);
  if (!problem.empty())
    return Error{"The note cannot be kept: " + problem, "Copy the session to a place that can be written.",
                 path};
  return std::nullopt;
}

}  // namespace

std::map<Id, std::string> notes_of(const std::map<std::string, std::string>& meta) {
  std::map<Id, std::string> out;
  for (auto it = meta.lower_bound(std::string(kPrefix)); it != meta.end() && it->first.starts_with(kPrefix);
       ++it) {
    Id id = 0;
    const char *from = it->first.data() + kPrefix.size(), *to = it->first.data() + it->first.size();
    if (std::from_chars(from, to, id).ptr == to && id) out[id] = it->second;
  }
  return out;
}

Status write_note(const std::string& path, Id id, const std::string& text) {
  return change(path, id, &text);
}

Status remove_note(const std::string& path, Id id) {
  return change(path, id, nullptr);
}

}  // namespace vitrine::session
