// Questions in SQL to a session: read only, with views of plain column names, bounded in time, rows and
// memory. A session may be a stranger's and a question copied from one: neither can write, reach another file
// or go on without end.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace vitrine::session {

struct QueryValue {
  enum class Type { Null, Integer, Real, Text } type = Type::Null;
  int64_t integer = 0;
  double real = 0;
  std::string text;  // of a blob: how many bytes it has
};

struct QueryLimits {
  size_t rows = 10'000;
  size_t text_bytes = size_t{1} << 20;  // of one value; the rest is cut
  size_t bytes = size_t{256} << 20;     // of all values
  int64_t memory = int64_t{1} << 30;    // that SQLite takes meanwhile
  int64_t milliseconds = 10'000;
  std::function<bool()> cancelled = {};
};

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<QueryValue>> rows;
  std::string cut;  // why there may be more than these rows, "" = these are all
  double milliseconds = 0;
};

// A view that every question may name, beside the session's own tables.
struct SqlView {
  const char* name;
  const char* about;
  const char* columns;  // "id, label, ..."
  const char* select;   // what gives them, in that order
};
std::span<const SqlView> query_views();

struct QueryExample {
  const char *title, *sql;
};
std::span<const QueryExample> query_examples();

// One SELECT. Errors: as open_session; what SQLite says of the question; it is none that only reads; it took
// too long; it was cancelled. blob_text(n) gives the text of a blob.
Result<QueryResult> query(const std::string& path, const std::string& sql, const QueryLimits& limits = {});

// Header and rows; a value that holds a comma, a quote or a line's end stands in quotes.
std::string csv_text(const QueryResult& result);

}  // namespace vitrine::session
