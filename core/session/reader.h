// Reads a session file, also while it is being written. Opening never executes anything and never unpickles
// (core/session/opening.h). What a column cannot hold reads as its default (core/session/borders.h). Not
// thread-safe: open one Reader a thread (cheap).
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/session/opening.h"
#include "core/session/rows.h"

struct sqlite3_stmt;

namespace vitrine::session {

class Reader {
 public:
  // Errors: as open_session.
  static Result<std::unique_ptr<Reader>> open(const std::string& path, Whose whose = Whose::Found);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // All rows that match; where: SQL after WHERE with ?1, ?2 ... for `args`, tail: "ORDER BY ordinal".
  // What is damaged, or more than the file may cost, gives the rows read until then and sets damage().
  template <class Row>
  std::vector<Row> rows(const std::string& where = "", const std::vector<int64_t>& args = {},
                        const std::string& tail = "") const;
  template <class Row>
  std::vector<Row> all(const std::string& tail = "") const {
    return rows<Row>("", {}, tail);
  }
  // The row with that id, or a default-made one (id 0).
  template <class Row>
  Row row(Id id) const;

  std::string meta(const std::string& key) const;  // "" when unset
  std::string text(BlobRef blob) const;            // decompressed; "" for none or damaged
  template <class T>
  std::vector<T> column(BlobRef blob) const {
    std::string raw = text(blob);
    std::vector<T> out(raw.size() / sizeof(T));
    std::copy_n(raw.data(), out.size() * sizeof(T), reinterpret_cast<char*>(out.data()));
    return out;
  }

  // Direct neighbours in the provenance, and the transitive closure without `id` itself, nearest first.
  std::vector<Id> origins(Id id) const;
  std::vector<Id> derived(Id id) const;
  std::vector<Id> ancestors(Id id) const;
  std::vector<Id> descendants(Id id) const;

  // Recorded here by this user, or said to be. Of any other session nothing is run without asking, and
  // nothing is written into it. What one says of itself is never more than a claim: one that says it is
  // running reads as died.
  bool trusted() const { return opened_.trusted; }

  // What is read from now on is counted there, so that another thread can tell how far it is.
  void count_rows(std::atomic<int64_t>* read) { counted_ = read; }
  // About how many rows the table has, without reading them: those that were left out of it count.
  int64_t about_rows(const char* table) const;

  int64_t change_count() const;  // grows when the writer has committed; for following a run
  const std::string& path() const { return path_; }
  const std::string& damage() const { return damage_; }  // "" while the file reads well

 private:
  Reader() = default;
  std::vector<Id> neighbours(Id id, bool forward) const;
  std::vector<Id> closure(Id id, bool forward) const;
  void damaged(const std::string& what) const;  // the first is told
  sqlite3_stmt* statement(const std::string& text) const;
  bool has_column(const char* table, const char* column) const;

  std::string path_;
  OpenedSession opened_;
  mutable std::string damage_;
  mutable std::unordered_map<std::string, sqlite3_stmt*> statements_;  // of what is asked again and again
  mutable std::map<std::string, int64_t, std::less<>> row_bytes_;      // the most that a table took
  mutable int64_t text_bytes_ = 0;
  std::atomic<int64_t>* counted_ = nullptr;
};

}  // namespace vitrine::session
