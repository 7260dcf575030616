#include "core/session/notes.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/session/abandoned.h"
#include "core/session/guarded_files.h"
#include "core/session/notes_beside.h"
#include "core/session/reader.h"
#include "core/session/recorded.h"

namespace vitrine::session {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "note:";

std::string key_of(Id id) {
  return std::string(kPrefix) + std::to_string(id);
}

// The statements with key and text bound, in one transaction. "" or SQLite's words.
std::string change_rows(sqlite3* db, Id id, const std::string* text) {
  std::string problem;
  auto run = [&](const char* sql) {
    sqlite3_stmt* st = nullptr;
    if (!problem.empty()) return;
    if (sqlite3_prepare_v2(db, sql, -1, &st, nullptr) == SQLITE_OK) {
      const int wanted = sqlite3_bind_parameter_count(st);
      const std::string key = key_of(id);
      if (wanted > 0) sqlite3_bind_text(st, 1, key.c_str(), -1, SQLITE_TRANSIENT);
      if (wanted > 1) sqlite3_bind_text(st, 2, text->c_str(), -1, SQLITE_TRANSIENT);
      if (sqlite3_step(st) != SQLITE_DONE) problem = sqlite3_errmsg(db);
    } else {
      problem = sqlite3_errmsg(db);
    }
    sqlite3_finalize(st);
  };
  run("BEGIN IMMEDIATE");
  run("DELETE FROM meta WHERE key = ?1");
  if (text) run("INSERT INTO meta (key, value) VALUES (?1, ?2)");
  run("COMMIT");
  return problem;
}

// In a copy that takes the session's place when it is whole: no journal is ever needed, and whoever reads the
// session goes on with what it opened.
std::string change_closed(const std::string& path, Id id, const std::string* text) {
  std::error_code bad;
  const fs::path target = fs::canonical(path, bad);
  if (bad) return bad.message();
  std::string fresh = target.string() + ".new-XXXXXX";
  const int made = mkstemp(fresh.data());
  if (made < 0) return std::strerror(errno);
  close(made);
  const fs::perms mode = fs::status(target, bad).permissions();
  fs::copy_file(target, fresh, fs::copy_options::overwrite_existing, bad);
  if (!bad) fs::permissions(fresh, mode, bad);
  std::string problem = bad ? bad.message() : "";
  if (problem.empty()) {
    sqlite3* db = nullptr;
    if (sqlite3_open_v2(fresh.c_str(), &db, SQLITE_OPEN_READWRITE, guarded_files()) == SQLITE_OK) {
      harden(db);
      sqlite3_exec(db, "PRAGMA journal_mode=MEMORY", nullptr, nullptr, nullptr);
      problem = change_rows(db, id, text);
    } else {
      problem = sqlite3_errmsg(db);
    }
    sqlite3_close(db);
  }
  if (problem.empty()) fs::rename(fresh, target, bad), problem = bad ? bad.message() : "";
  if (problem.empty())
    mark_recorded(target.string());
  else
    fs::remove(fresh, bad);
  return problem;
}

// Its run has ended, and somebody who reads it keeps its log from being taken in.
std::string change_live(const std::string& path, Id id, const std::string* text) {
  auto opened = open_unfinished(path);
  return opened ? change_rows(opened.value().db.get(), id, text) : opened.error().what;
}

Status change(const std::string& path, Id id, const std::string* text) {
  close_if_abandoned(path);
  bool trusted = false;
  std::string created;
  {
    auto opened = Reader::open(path);
    if (!opened) return opened.error();
    trusted = opened.value()->trusted();
    created = opened.value()->meta("created_unix_ns");
    if (opened.value()->meta("status") == "running")
      return Error{"Notes wait until the run has ended: its engine still records.", "", path};
  }
  if (!trusted || has_notes_beside(path)) {
    NotesBeside notes = read_notes_beside(path, created);
    notes[id] = text ? std::optional(*text) : std::nullopt;
    return write_notes_beside(path, created, notes);
  }
  const std::string problem =
      is_unfinished(path, Whose::Found) ? change_live(path, id, text) : change_closed(path, id, text);
  if (problem.empty()) return std::nullopt;
  return Error{"The note cannot be kept: " + problem, "Copy the session to a place that can be written.",
               path};
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

void add_notes_beside(const std::string& path, std::map<std::string, std::string>& meta) {
  const auto created = meta.find("created_unix_ns");
  for (const auto& [id, text] : read_notes_beside(path, created == meta.end() ? "" : created->second)) {
    if (text)
      meta[key_of(id)] = *text;
    else
      meta.erase(key_of(id));
  }
}

Status write_note(const std::string& path, Id id, const std::string& text) {
  return change(path, id, &text);
}

Status remove_note(const std::string& path, Id id) {
  return change(path, id, nullptr);
}

}  // namespace vitrine::session
