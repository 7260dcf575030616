// The one way in which a session file is opened, by the reader and by what writes into one. What a person was
// sent is opened as it may be: nothing beside it is read, nothing of it is executed, written or deleted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/session/schema.h"

struct sqlite3;

namespace vitrine::session {

// Found: a path that somebody names. Mine: this process has just had it recorded, and knows that it is its
// own where that cannot be kept (core/session/recorded.h).
enum class Whose { Found, Mine };

// What a file may cost its reader. A session of this user's costs what it costs.
struct Limits {
  int64_t row_bytes = int64_t{1} << 40;   // in memory, of all tables
  int64_t text_bytes = int64_t{1} << 40;  // of all texts that are unpacked
  int64_t one_text = int64_t{1} << 31;    // a larger claim is damage, not data
  int64_t operations = int64_t{1} << 62;  // of SQLite's machine
};

struct OpenedSession {
  struct Closes {
    void operator()(sqlite3* db) const;
  };
  std::unique_ptr<int64_t> operations;  // left to be done; outlives the connection
  std::unique_ptr<sqlite3, Closes> db;
  Columns columns;
  bool trusted = false;  // recorded here by this user, or said to be
  bool live = false;     // its writer may go on
  Limits limits;
};

// For reading. Errors: missing, no plain file, foreign, truncated or damaged, with a schema that is no
// session's, written by a newer Vitrine, unfinished and a stranger's.
Result<OpenedSession> open_session(const std::string& path, Whose whose = Whose::Found);

// For writing: a session of this user's that was being recorded until its engine died (is_unfinished, or this
// process had it recorded). Its log is taken in. Errors: as above.
Result<OpenedSession> open_unfinished(const std::string& path);

// Whether the path is of a session that is still written, or was until its writer died: of this user.
bool is_unfinished(const std::string& path, Whose whose);

// From now on this file counts as recorded here. Errors: as open_session but for being unfinished; it cannot
// be kept.
Status trust_session(const std::string& path);

// What every connection of ours has set before the first question.
void harden(sqlite3* db);

// Takes the log in, so that the session is one file. A reader that is following holds the log open; then
// false, and the next opening tidies up.
bool leave_log(sqlite3* db);

}  // namespace vitrine::session
