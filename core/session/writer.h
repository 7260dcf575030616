// Writes a session file while the run happens. WAL, one transaction a batch: what was committed survives the
// death of the process, and a reader follows meanwhile. Not thread-safe: one owner (the engine, under the
// GIL).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/session/rows.h"

struct sqlite3;
struct sqlite3_stmt;

namespace vitrine::session {

// What a session may not take the place of: a folder, a device, a file that is something else.
Status check_replaceable(const std::string& path);

// A session's file with SQLite's own beside it. One that is not there is no error.
void remove_session(const std::string& path);

class Writer {
 public:
  // Creates the file; an existing session is replaced, any other file is left alone. Errors: that, or the
  // path cannot be written.
  static Result<std::unique_ptr<Writer>> create(const std::string& path);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // The next free id of a kind.
  Id next(Kind kind) { return make_id(kind, ++seq_[static_cast<size_t>(kind)]); }

  // Inserts one row, or replaces the row with the same id (so a row can be filled in as its facts become
  // known).
  template <class Row>
  void put(const Row& row);

  // Stores text or bytes compressed; the same content is stored once.
  BlobRef blob(std::string_view content);
  template <class T>
  BlobRef column(const std::vector<T>& values) {
    return blob({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }

  int64_t made(Kind kind) const { return seq_[static_cast<size_t>(kind)]; }  // how many ids of a kind

  void link(Id origin, Id derived);  // derived came from origin; 0 on either side is ignored
  void meta(const std::string& key, const std::string& value);
  int64_t name(const std::string& text, const std::string& family);  // interned row of `name`

  void commit();  // makes everything so far visible to readers
  // Last commit; checkpoints and leaves WAL, so that a finished session is one file. status as in RunRow.
  // ours: it holds what was recorded here, and is trusted (recorded.h); false: a stranger's.
  void finish(const std::string& status, bool ours = true);

  const std::string& path() const { return path_; }
  int process() const { return pid_; }  // after fork() the child must not write: compare with getpid()

 private:
  Writer() = default;
  static Result<std::unique_ptr<Writer>> begin_in(const std::string& path);
  sqlite3_stmt* statement(const char* table, const std::string& sql);
  void begin_session();
  void begin();
  void run(sqlite3_stmt* st);
  void exec(const char* sql);

  std::string path_;
  sqlite3* db_ = nullptr;
  int pid_ = 0;
  bool in_transaction_ = false;
  bool finished_ = false;
  int64_t blobs_ = 0, names_ = 0;
  std::array<int64_t, 32> seq_{};
  std::unordered_map<std::string, sqlite3_stmt*> statements_;
  std::unordered_map<std::string, int64_t> blob_by_content_, name_by_text_;
};

}  // namespace vitrine::session
