#include "core/session/query/query.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "core/base/csv.h"
#include "core/session/opening.h"
#include "core/session/sql.h"
#include "core/session/unpack.h"

namespace vitrine::session {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLook = 2000;  // operations of SQLite's machine between two looks at the clock
constexpr int64_t kMostSlices = 2'000'000;
constexpr int64_t kMostText = 64 << 20;  // that blob_text() unpacks

// What a question is watched by while it runs.
struct Watch {
  const QueryLimits& limits;
  Clock::time_point began = Clock::now();
  int64_t memory = sqlite3_memory_used();
  std::string stopped = {};  // why

  bool stop() {
    if (limits.cancelled && limits.cancelled())
      stopped = "It was cancelled.";
    else if (Clock::now() - began > std::chrono::milliseconds(limits.milliseconds))
      stopped = "It took longer than " + std::to_string(limits.milliseconds / 1000) + " s.";
    else if (sqlite3_memory_used() - memory > limits.memory)
      stopped = "It took more than " + std::to_string(limits.memory >> 20) + " MB of memory.";
    return !stopped.empty();
  }
};

int look(void* watch) {
  return static_cast<Watch*>(watch)->stop();
}

// Reading, and functions that reach nothing outside. A pragma would be a virtual table of its name.
int allowed(void*, int action, const char*, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second && std::strcmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

struct Finished {
  void operator()(sqlite3_stmt* st) const { sqlite3_finalize(st); }
};
using OwnedStatement = std::unique_ptr<sqlite3_stmt, Finished>;

OwnedStatement prepared(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* st = nullptr;
  sqlite3_prepare_v2(db, sql.c_str(), -1, &st, nullptr);
  return OwnedStatement(st);
}

// The unpacked content of a blob, nothing where there is none or it is damaged.
std::optional<std::string> blob_content(sqlite3* db, int64_t row) {
  const OwnedStatement st = prepared(db, "SELECT encoding, raw_bytes, data FROM main.blob WHERE id = ?1");
  if (!st || row <= 0) return std::nullopt;
  sqlite3_bind_int64(st.get(), 1, row);
  if (sqlite3_step(st.get()) != SQLITE_ROW) return std::nullopt;
  std::string encoding;
  int64_t bytes = 0;
  sql::column(st.get(), 0, encoding);
  sql::column(st.get(), 1, bytes);
  const auto* data = static_cast<const char*>(sqlite3_column_blob(st.get(), 2));
  const std::string_view packed(data ? data : "",
                                data ? static_cast<size_t>(sqlite3_column_bytes(st.get(), 2)) : 0);
  if (encoding == "raw") return std::string(packed);
  if (encoding != "zstd" || bytes < 0 || bytes > kMostText) return std::nullopt;
  return unpack(packed, bytes);
}

void blob_text(sqlite3_context* context, int, sqlite3_value** values) {
  const auto text = blob_content(sqlite3_context_db_handle(context), sqlite3_value_int64(values[0]));
  if (text)
    sqlite3_result_text64(context, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  else
    sqlite3_result_null(context);
}

std::string execute(sqlite3* db, const std::string& sql) {
  char* said = nullptr;
  std::string out;
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &said) != SQLITE_OK)
    out = said ? said : sqlite3_errmsg(db);
  sqlite3_free(said);
  return out;
}

template <class T>
std::vector<T> column_of(sqlite3* db, int64_t blob) {
  const std::string raw = blob_content(db, blob).value_or("");
  std::vector<T> out(raw.size() / sizeof(T));
  std::copy_n(raw.data(), out.size() * sizeof(T), reinterpret_cast<char*>(out.data()));
  return out;
}

// Slices are columns in blobs: as rows only for the question that names them.
void unfold_slices(sqlite3* db, Watch& watch) {
  execute(db,
          "CREATE TEMP TABLE all_slices (run, side, lane_kind, lane, name, family, start_us, us, entity, "
          "relation)");
  const OwnedStatement lanes =
      prepared(db, "SELECT run, side, kind, label, start, duration, name, entity, relation FROM main.lane");
  const OwnedStatement put =
      prepared(db,
               "INSERT INTO all_slices SELECT ?1, ?2, ?3, ?4, (SELECT text FROM main.name WHERE id = ?5), "
               "(SELECT family FROM main.name WHERE id = ?5), ?6 / 1e3, ?7 / 1e3, ?8, ?9");
  if (!lanes || !put) return;
  int64_t left = kMostSlices;
  execute(db, "BEGIN");
  while (left > 0 && watch.stopped.empty() && sqlite3_step(lanes.get()) == SQLITE_ROW) {
    auto blob = [&](int i) { return sqlite3_column_int64(lanes.get(), i); };
    const auto start = column_of<int64_t>(db, blob(4)), duration = column_of<int64_t>(db, blob(5));
    const auto name = column_of<int32_t>(db, blob(6));
    const auto entity = column_of<int64_t>(db, blob(7)), relation = column_of<int64_t>(db, blob(8));
    const size_t count = std::min({start.size(), duration.size(), name.size(), static_cast<size_t>(left)});
    left -= static_cast<int64_t>(count);
    for (int i = 0; i < 4; ++i) sqlite3_bind_value(put.get(), i + 1, sqlite3_column_value(lanes.get(), i));
    for (size_t i = 0; i < count; ++i) {
      sqlite3_bind_int64(put.get(), 5, name[i]);
      sqlite3_bind_int64(put.get(), 6, start[i]);
      sqlite3_bind_int64(put.get(), 7, duration[i]);
      sqlite3_bind_int64(put.get(), 8, i < entity.size() ? entity[i] : 0);
      sqlite3_bind_int64(put.get(), 9, i < relation.size() ? relation[i] : 0);
      sqlite3_step(put.get());
      sqlite3_reset(put.get());
    }
    watch.stop();
  }
  execute(db, "COMMIT");
}

// What a question needs beside the session's tables, and the bounds it runs in.
void prepare_connection(sqlite3* db, const std::string& sql, Watch& watch) {
  execute(db, "PRAGMA query_only=0");  // of a temporary database, in memory
  execute(db, "PRAGMA temp_store=2");
  for (const auto& [which, value] : {std::pair{SQLITE_LIMIT_SQL_LENGTH, 100'000},
                                     {SQLITE_LIMIT_COLUMN, 500},
                                     {SQLITE_LIMIT_EXPR_DEPTH, 200},
                                     {SQLITE_LIMIT_COMPOUND_SELECT, 50},
                                     {SQLITE_LIMIT_VDBE_OP, 1'000'000},
                                     {SQLITE_LIMIT_FUNCTION_ARG, 100},
                                     {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
                                     {SQLITE_LIMIT_LENGTH, static_cast<int>(kMostText)}})
    sqlite3_limit(db, which, value);
  sqlite3_create_function_v2(db, "blob_text", 1, SQLITE_UTF8 | SQLITE_INNOCUOUS, nullptr, blob_text, nullptr,
                             nullptr, nullptr);
  sqlite3_progress_handler(db, kLook, look, &watch);
  for (const SqlView& view : query_views())
    execute(db, std::string("CREATE TEMP VIEW ") + view.name + " (" + view.columns + ") AS SELECT " +
                    view.select);
  if (sql.find("slices") != std::string::npos || sql.find("SLICES") != std::string::npos)
    unfold_slices(db, watch);
  execute(db, "PRAGMA query_only=1");
  sqlite3_set_authorizer(db, allowed, nullptr);
}

QueryValue value_of(sqlite3_stmt* st, int i, size_t most) {
  QueryValue out;
  switch (sqlite3_column_type(st, i)) {
    case SQLITE_INTEGER:
      out.type = QueryValue::Type::Integer;
      out.integer = sqlite3_column_int64(st, i);
      break;
    case SQLITE_FLOAT:
      out.type = QueryValue::Type::Real;
      out.real = sqlite3_column_double(st, i);
      break;
    case SQLITE_BLOB:
      out.type = QueryValue::Type::Text;
      out.text = std::to_string(sqlite3_column_bytes(st, i)) + " bytes";
      break;
    case SQLITE_TEXT:
      out.type = QueryValue::Type::Text;
      sql::column(st, i, out.text);
      if (out.text.size() > most) {
        while (most > 0 && (static_cast<unsigned char>(out.text[most]) & 0xC0) == 0x80) --most;
        out.text.resize(most);
        out.text += "…";
      }
      break;
    default:
      break;
  }
  return out;
}

Error refused(const std::string& what) {
  return Error{what, "The tables and views that can be asked: vitrine query FILE, without a question.", ""};
}

std::string trimmed(std::string text) {
  const char* blank = " \t\r\n;";
  text.erase(text.find_last_not_of(blank) + 1);
  text.erase(0, std::min(text.size(), text.find_first_not_of(" \t\r\n")));
  return text;
}

}  // namespace

Result<QueryResult> query(const std::string& path, const std::string& asked, const QueryLimits& limits) {
  const std::string sql = trimmed(asked);
  if (sql.empty()) return refused("There is no question.");
  auto opened = open_session(path);
  if (!opened) return opened.error();
  OpenedSession session = opened.take();
  sqlite3* db = session.db.get();
  Watch watch{limits};
  prepare_connection(db, sql, watch);
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  const int rc = sqlite3_prepare_v2(db, sql.c_str(), -1, &raw, &rest);
  const OwnedStatement st(raw);
  if (rc == SQLITE_AUTH) return refused("A question can only read, by SELECT.");
  if (!watch.stopped.empty()) return refused(watch.stopped);
  if (rc != SQLITE_OK) return refused(std::string("SQLite says: ") + sqlite3_errmsg(db) + ".");
  if (!st) return refused("There is no question.");
  if (!trimmed(rest).empty()) return refused("That is more than one question.");
  if (!sqlite3_stmt_readonly(st.get())) return refused("A question can only read, by SELECT.");
  QueryResult out;
  const int columns = sqlite3_column_count(st.get());
  for (int i = 0; i < columns; ++i) out.columns.emplace_back(sqlite3_column_name(st.get(), i));
  size_t bytes = 0;
  int step = SQLITE_ROW;
  while (out.cut.empty() && (step = sqlite3_step(st.get())) == SQLITE_ROW) {
    if (out.rows.size() >= limits.rows) {
      out.cut = "Only the first " + std::to_string(limits.rows) + " rows are shown.";
      break;
    }
    std::vector<QueryValue>& row = out.rows.emplace_back();
    for (int i = 0; i < columns; ++i) {
      row.push_back(value_of(st.get(), i, limits.text_bytes));
      bytes += sizeof(QueryValue) + row.back().text.size();
    }
    if (bytes > limits.bytes) out.cut = "More rows would take too much memory.";
  }
  if (step != SQLITE_ROW && step != SQLITE_DONE)
    return refused(watch.stopped.empty() ? std::string("SQLite says: ") + sqlite3_errmsg(db) + "."
                                         : watch.stopped);
  out.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - watch.began).count();
  return out;
}

std::string csv_text(const QueryResult& result) {
  std::string out;
  for (size_t i = 0; i < result.columns.size(); ++i) out += (i ? "," : "") + csv_cell(result.columns[i]);
  out += '\n';
  for (const auto& row : result.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      char number[32];
      if (i) out += ',';
      if (row[i].type == QueryValue::Type::Integer) out += std::to_string(row[i].integer);
      if (row[i].type == QueryValue::Type::Real)
        out.append(number, static_cast<size_t>(std::snprintf(number, sizeof number, "%.15g", row[i].real)));
      if (row[i].type == QueryValue::Type::Text) out += csv_cell(row[i].text);
    }
    out += '\n';
  }
  return out;
}

}  // namespace vitrine::session
