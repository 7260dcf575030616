#include "core/session/reader.h"

#include <set>

#include "core/session/row_reading.h"
#include "core/session/unpack.h"

namespace vitrine::session {

Result<std::unique_ptr<Reader>> Reader::open(const std::string& path, Whose whose) {
  auto opened = open_session(path, whose);
  if (!opened) return opened.error();
  std::unique_ptr<Reader> r(new Reader);
  r->path_ = path;
  r->opened_ = opened.take();
  if (r->meta("schema_version").empty())
    return Error{"This is not a session that can be opened: it has no schema version.", "Record it again.",
                 path};
  return r;
}

Reader::~Reader() {
  for (const auto& [text, st] : statements_) sqlite3_finalize(st);
}

void Reader::damaged(const std::string& what) const {
  if (damage_.empty()) damage_ = what;
}

bool Reader::has_column(const char* table, const char* column) const {
  const auto it = opened_.columns.find(table);
  return it != opened_.columns.end() &&
         std::find(it->second.begin(), it->second.end(), column) != it->second.end();
}

// nullptr: SQLite refuses it, and damage() says why.
sqlite3_stmt* Reader::statement(const std::string& text) const {
  if (const auto it = statements_.find(text); it != statements_.end()) return it->second;
  sqlite3_stmt* st = nullptr;
  sqlite3* db = opened_.db.get();
  if (sqlite3_prepare_v2(db, text.c_str(), -1, &st, nullptr) != SQLITE_OK) {
    damaged(std::string(sqlite3_errmsg(db)) + " in " + text);
    return nullptr;
  }
  return statements_[text] = st;
}

namespace {

constexpr int64_t kMostReserved = 1 << 22;  // rows; more grow as they come
constexpr size_t kCounted = 4096;           // rows between two looks at how far it is

// What SQLite says, or that the budget is used up.
std::string why_ended(sqlite3* db, int rc) {
  return rc == SQLITE_INTERRUPT ? "reading it takes longer than a file of its size may" : sqlite3_errmsg(db);
}

}  // namespace

template <class Row>
std::vector<Row> Reader::rows(const std::string& where, const std::vector<int64_t>& args,
                              const std::string& tail) const {
  std::vector<Row> out;
  RowReading<Row> reading([&](const char* column) { return has_column(Row::table, column); });
  if (reading.columns().empty()) return out;  // a file of before this table was introduced
  std::string text = "SELECT " + reading.columns() + " FROM \"" + Row::table + "\"";
  if (!where.empty()) text += " WHERE " + where;
  if (!tail.empty()) text += " " + tail;
  sqlite3_stmt* st = statement(text);
  if (!st) return out;
  for (size_t i = 0; i < args.size(); ++i) sqlite3_bind_int64(st, static_cast<int>(i) + 1, args[i]);
  int64_t left = opened_.limits.row_bytes, taken = 0;
  for (const auto& [table, bytes] : row_bytes_)
    if (table != Row::table) left -= bytes;
  if (where.empty())
    out.reserve(static_cast<size_t>(std::clamp<int64_t>(
        about_rows(Row::table), 0, std::min(kMostReserved, left / int64_t{sizeof(Row)}))));
  int rc = SQLITE_ROW;
  while (taken <= left && (rc = sqlite3_step(st)) == SQLITE_ROW) {
    Row row;
    if (!reading.read(st, row)) continue;
    out.push_back(std::move(row));
    taken = static_cast<int64_t>(sizeof(Row) * out.size()) + reading.text_bytes();
    if (counted_ && out.size() % kCounted == 0) counted_->fetch_add(kCounted, std::memory_order_relaxed);
  }
  if (rc == SQLITE_ROW)
    damaged(std::string(Row::table) + " has more rows than a file of its size may: only the first " +
            std::to_string(out.size()) + " are read");
  else if (rc != SQLITE_DONE)
    damaged(why_ended(opened_.db.get(), rc));
  if (!reading.damage().empty()) damaged(reading.damage());
  sqlite3_reset(st);
  int64_t& most = row_bytes_[Row::table];
  most = std::max(most, taken);
  settle_rows(out, opened_.trusted);
  return out;
}

template <class Row>
Row Reader::row(Id id) const {
  auto found = rows<Row>("id = ?1", {id});
  return found.empty() ? Row{} : std::move(found.front());
}

#define X(Row)                                                                                 \
  template std::vector<Row> Reader::rows<Row>(const std::string&, const std::vector<int64_t>&, \
                                              const std::string&) const;                       \
  template Row Reader::row<Row>(Id) const;
VITRINE_TABLES(X)
#undef X

std::string Reader::meta(const std::string& key) const {
  MetaRow row{key, ""};
  if (!has_column("meta", "key") || !has_column("meta", "value")) return "";
  sqlite3_stmt* st = statement("SELECT value FROM meta WHERE key = ?1");
  if (!st) return "";
  sql::bind(st, 1, key);
  if (sqlite3_step(st) == SQLITE_ROW) sql::column(st, 0, row.value);
  sqlite3_reset(st);
  settle_row(row, opened_.trusted);
  return row.value;
}

std::string Reader::text(BlobRef ref) const {
  if (!ref.row) return "";
  const BlobRow blob = row<BlobRow>(ref.row);
  const bool packed = blob.encoding == "zstd";
  const int64_t bytes = packed ? blob.raw_bytes : static_cast<int64_t>(blob.data.size());
  if (!packed && blob.encoding != "raw" && blob.id) {
    damaged("a text has an encoding that is not known");
    return "";
  }
  if (bytes > opened_.limits.one_text || bytes > opened_.limits.text_bytes - text_bytes_) {
    damaged("its texts are larger than those of a file of its size may be");
    return "";
  }
  text_bytes_ += bytes;
  if (!packed) return std::string(blob.data.begin(), blob.data.end());
  auto out = unpack({reinterpret_cast<const char*>(blob.data.data()), blob.data.size()}, bytes);
  if (!out) damaged("a compressed text is damaged");
  return out ? std::move(*out) : "";
}

std::vector<Id> Reader::neighbours(Id id, bool forward) const {
  std::vector<Id> out;
  for (const LinkRow& link : rows<LinkRow>(forward ? "origin = ?1" : "derived = ?1", {id}))
    out.push_back(forward ? link.derived : link.origin);
  return out;
}

std::vector<Id> Reader::closure(Id id, bool forward) const {
  std::vector<Id> order;
  std::set<Id> seen{id};
  std::vector<Id> frontier{id};
  while (!frontier.empty()) {
    std::vector<Id> next;
    for (Id at : frontier) {
      for (Id n : neighbours(at, forward)) {
        if (seen.insert(n).second) next.push_back(n);
      }
    }
    order.insert(order.end(), next.begin(), next.end());
    frontier = std::move(next);
  }
  return order;
}

std::vector<Id> Reader::origins(Id id) const {
  return neighbours(id, false);
}
std::vector<Id> Reader::derived(Id id) const {
  return neighbours(id, true);
}
std::vector<Id> Reader::ancestors(Id id) const {
  return closure(id, false);
}
std::vector<Id> Reader::descendants(Id id) const {
  return closure(id, true);
}

// Ids of a kind follow each other, and rows of other tables are numbered.
int64_t Reader::about_rows(const char* table) const {
  const std::string from = "(rowid) FROM \"" + std::string(table) + "\")";
  sqlite3_stmt* st = statement("SELECT (SELECT max" + from + " - (SELECT min" + from + " + 1");
  const int64_t out = st && sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
  if (st) sqlite3_reset(st);
  return out;
}

int64_t Reader::change_count() const {
  sqlite3_stmt* st = statement("PRAGMA data_version");
  const int64_t out = st && sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : -1;
  if (st) sqlite3_reset(st);
  return out;
}

}  // namespace vitrine::session
