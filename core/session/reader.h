// Reads a session file, also while it is being written. Opening never executes anything and never unpickles:
// read-only, defensive, trusted_schema off. Not thread-safe: open one Reader a thread (cheap).
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/session/rows.h"

struct sqlite3;

namespace vitrine::session {

class Reader {
 public:
  // Errors: missing, unreadable, not a session ("foreign"), truncated or damaged, written by a newer Vitrine.
  static Result<std::unique_ptr<Reader>> open(const std::string& path);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // All rows that match; where: SQL after WHERE with ?1, ?2 ... for `args`, tail: "ORDER BY ordinal".
  // A damaged page gives the rows read until then and sets damage().
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

  int64_t change_count() const;  // grows when the writer has committed; for following a run
  const std::string& path() const { return path_; }
  const std::string& damage() const { return damage_; }  // "" while the file reads well

 private:
  Reader() = default;
  std::vector<Id> neighbours(Id id, bool forward) const;
  std::vector<Id> closure(Id id, bool forward) const;

  std::string path_;
  sqlite3* db_ = nullptr;
  mutable std::string damage_;
};

}  // namespace vitrine::session
