// What is done to rows and schema of a session; sql_mutations() at the end lists all.
#include <cstring>

#include "tests/fuzz/sessions/hostile_values.h"
#include "tests/fuzz/sessions/session_mutator.h"

namespace vitrine::fuzz {

namespace {

std::string quoted(const std::string& name) {
  return "\"" + name + "\"";
}

std::string some_table(Database& db, Random& random) {
  const auto tables = db.tables();
  return tables.empty() ? "meta" : random.of(tables);
}

// A column of `table` whose type is in `types` ("" for any), or nothing.
std::string some_column(Database& db, Random& random, const std::string& table, std::string_view types) {
  std::vector<std::string> fitting;
  for (const Column& column : db.columns(table))
    if (types.empty() || types.find(column.type) != std::string_view::npos) fitting.push_back(column.name);
  return fitting.empty() ? "" : random.of(fitting);
}

// Every row, every few, or one: what a mutation changes of a table.
std::string some_rows(Random& random) {
  const uint64_t every = random.of(std::vector<uint64_t>{1, 2, 5, 40});
  return " WHERE rowid % " + std::to_string(every) + " = " + std::to_string(random.below(every));
}

std::string update(const std::string& table, const std::string& column) {
  return "UPDATE OR IGNORE " + quoted(table) + " SET " + quoted(column) + " = ";
}

void set_integers(Database& db, Random& random) {
  for (uint64_t left = random.of(std::vector<uint64_t>{1, 5, 20}); left > 0; --left) {
    const std::string table = some_table(db, random);
    const std::string column = some_column(db, random, table, "INTEGER REAL");
    if (!column.empty()) db.run(update(table, column) + hostile_integer(random) + some_rows(random));
  }
}

void set_reals(Database& db, Random& random) {
  for (uint64_t left = random.of(std::vector<uint64_t>{1, 5}); left > 0; --left) {
    const std::string table = some_table(db, random);
    const std::string column = some_column(db, random, table, "REAL");
    if (!column.empty()) db.run(update(table, column) + hostile_real(random) + some_rows(random));
  }
}

void set_texts(Database& db, Random& random) {
  for (uint64_t left = random.of(std::vector<uint64_t>{1, 5, 20}); left > 0; --left) {
    const std::string table = some_table(db, random);
    const std::string column = some_column(db, random, table, "TEXT");
    if (!column.empty()) db.run_text(update(table, column) + "?1" + some_rows(random), hostile_text(random));
  }
}

// A value of another type than the column's: SQLite keeps what it is given.
void set_other_types(Database& db, Random& random) {
  const std::string table = some_table(db, random);
  const std::string column = some_column(db, random, table, "");
  if (column.empty()) return;
  if (random.one_in(2))
    db.run(update(table, column) + (random.one_in(2) ? "NULL" : hostile_integer(random)) + some_rows(random));
  else
    db.run_blob(update(table, column) + "?1" + some_rows(random), random_bytes(random, random.below(300)));
}

// An id of something else, of any kind, where an id is expected.
void exchange_references(Database& db, Random& random) {
  std::vector<int64_t> ids;
  for (const std::string& table : db.tables())
    for (int64_t id : db.integers("SELECT id FROM " + quoted(table), 8)) ids.push_back(id);
  if (ids.empty()) return;
  for (uint64_t left = random.of(std::vector<uint64_t>{1, 4, 20}); left > 0; --left) {
    const std::string table = some_table(db, random);
    const std::string column = some_column(db, random, table, "INTEGER");
    if (column.empty()) continue;
    db.run(update(table, column) + std::to_string(random.of(ids)) + some_rows(random));
  }
}

// A thing that comes of itself, or of the next one of its kind, whose next is the first.
void close_cycles(Database& db, Random& random) {
  if (random.one_in(3)) return db.run("INSERT INTO link(origin, derived) SELECT derived, origin FROM link");
  const std::string table = some_table(db, random);
  const std::string column = some_column(db, random, table, "INTEGER");
  if (column.empty()) return;
  const std::string next = "(SELECT coalesce(min(id), (SELECT min(id) FROM " + quoted(table) + ")) FROM " +
                           quoted(table) + " n WHERE n.id > " + quoted(table) + ".id)";
  db.run(update(table, column) + (random.one_in(2) ? "id" : next));
}

void join_everything(Database& db, Random& random) {
  const char* statements[] = {
      "INSERT INTO link SELECT a.origin, b.derived FROM link a, link b LIMIT 30000",
      "INSERT INTO edge(graph, src, dst, slot, bytes) SELECT graph, dst, src, slot, bytes FROM edge",
      "UPDATE edge SET dst = src",
      "UPDATE graph_break SET next_segment = (SELECT id FROM segment LIMIT 1)",
      "UPDATE crossing SET node = backward_node",
      "UPDATE backward SET backward = compilation",
      "UPDATE recompilation SET previous = compilation",
  };
  db.run(statements[random.below(std::size(statements))]);
}

void delete_rows(Database& db, Random& random) {
  db.run("DELETE FROM " + quoted(some_table(db, random)) + some_rows(random));
}

void repeat_rows(Database& db, Random& random) {
  const std::string table = some_table(db, random);
  std::string columns;
  for (const Column& column : db.columns(table)) {
    columns += columns.empty() ? "" : ", ";
    columns +=
        column.name == "id" ? "(SELECT max(id) FROM " + quoted(table) + ") + rowid" : quoted(column.name);
  }
  for (uint64_t left = 1 + random.below(6); left > 0; --left)
    db.run("INSERT INTO " + quoted(table) + " SELECT " + columns + " FROM " + quoted(table) + " LIMIT 5000");
}

void change_texts_storage(Database& db, Random& random) {
  switch (random.below(6)) {
    case 0:
      return db.run("UPDATE blob SET raw_bytes = " + hostile_integer(random) + some_rows(random));
    case 1:
      return db.run_blob("UPDATE blob SET data = ?1" + some_rows(random), random_bytes(random, 50));
    case 2:
      return db.run("UPDATE blob SET data = NULL" + some_rows(random));
    case 3:
      return db.run("UPDATE blob SET data = (SELECT data FROM blob b WHERE b.id = blob.id + 1)");
    case 4:
      return db.run("UPDATE blob SET encoding = 'raw', raw_bytes = length(data)" + some_rows(random));
    default:
      db.run_text("UPDATE blob SET encoding = 'raw', data = ?1" + some_rows(random), hostile_text(random));
  }
}

// A text of 256 MB in 8 kB; or one that only says so.
void claim_large_texts(Database& db, Random& random) {
  static const std::string zeros = zeros_compressed(size_t{256} << 20);
  const std::string claimed = random.one_in(2) ? std::to_string(256 << 20) : "2147483647";
  if (random.one_in(2)) return db.run("UPDATE blob SET raw_bytes = " + claimed + some_rows(random));
  db.run_blob("UPDATE blob SET encoding = 'zstd', raw_bytes = " + claimed + ", data = ?1" + some_rows(random),
              zeros);
}

// Columns of a timeline: shorter or longer than they say, with the ends of their types.
void change_lanes(Database& db, Random& random) {
  static const std::vector<std::string> columns = {"start",  "duration", "name",
                                                   "entity", "depth",    "relation"};
  static const std::vector<int64_t> values = {0, 1, -1, INT64_MAX, INT64_MIN, int64_t{1} << 40};
  if (random.one_in(4))
    return db.run("UPDATE lane SET count = " + hostile_integer(random) + some_rows(random));
  std::string data;
  const uint64_t count = random.of(std::vector<uint64_t>{0, 1, 3, 8, 100, 4000});
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t value = random.one_in(2) ? random.of(values) : static_cast<int64_t>(random.below(1 << 20));
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  db.run_blob("INSERT INTO blob(encoding, raw_bytes, data) VALUES('raw', length(?1), ?1)", data);
  db.run("UPDATE lane SET " + quoted(random.of(columns)) + " = (SELECT max(id) FROM blob)" +
         some_rows(random));
  if (random.one_in(2)) db.run("UPDATE lane SET count = " + std::to_string(count));
}

void change_columns(Database& db, Random& random) {
  const std::string table = some_table(db, random), column = some_column(db, random, table, "");
  switch (random.below(3)) {
    case 0:
      return db.run("DROP TABLE " + quoted(table));
    case 1:
      return db.run("ALTER TABLE " + quoted(table) + " DROP COLUMN " + quoted(column));
    default:
      db.run("ALTER TABLE " + quoted(table) + " RENAME COLUMN " + quoted(column) + " TO renamed");
  }
}

// A schema that would run SQL of the file's own.
void add_schema_that_runs(Database& db, Random& random) {
  const std::string table = some_table(db, random);
  switch (random.below(6)) {
    case 0:
      db.run(
          "CREATE TRIGGER runs AFTER UPDATE ON meta BEGIN INSERT INTO meta VALUES('x', hex(zeroblob(1000))); "
          "END");
      return db.run("UPDATE meta SET value = 'running' WHERE key = 'status'");
    case 1:
      db.run("ALTER TABLE " + quoted(table) + " RENAME TO hidden");
      return db.run("CREATE VIEW " + quoted(table) +
                    " AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT hidden.* "
                    "FROM hidden, n");
    case 2:
      return db.run("ALTER TABLE " + quoted(table) + " ADD COLUMN more TEXT AS (hex(zeroblob(400000000)))");
    case 3:
      return db.run("CREATE INDEX runs ON " + quoted(table) + "(hex(zeroblob(1000)))");
    case 4:
      return db.run("CREATE VIRTUAL TABLE runs USING fts5(x)");
    default:
      db.run(
          "CREATE TABLE runs(x TEXT CHECK(x NOT LIKE '%a%a%a%a%a%b'), y TEXT COLLATE NOCASE DEFAULT "
          "(random()))");
  }
}

void damage_schema(Database& db, Random& random) {
  db.run("PRAGMA writable_schema=1");
  switch (random.below(4)) {
    case 0:
      return db.run("UPDATE sqlite_master SET rootpage = " + std::to_string(random.below(60)) +
                    some_rows(random));
    case 1:
      return db.run("UPDATE sqlite_master SET sql = 'CREATE TABLE ' || name || '(a, b)'" + some_rows(random));
    case 2:
      return db.run("UPDATE sqlite_master SET sql = substr(sql, 1, 30)" + some_rows(random));
    default:
      db.run("UPDATE sqlite_master SET name = 'x' || name" + some_rows(random));
  }
}

}  // namespace

const std::vector<SqlMutation>& sql_mutations() {
  static const std::vector<SqlMutation> table = {
      {"integers", 30, set_integers},
      {"reals", 6, set_reals},
      {"texts", 20, set_texts},
      {"values of another type", 6, set_other_types},
      {"exchanged references", 20, exchange_references},
      {"cycles", 10, close_cycles},
      {"everything joined with everything", 5, join_everything},
      {"deleted rows", 8, delete_rows},
      {"repeated rows", 5, repeat_rows},
      {"how texts are stored", 8, change_texts_storage},
      {"large texts", 1, claim_large_texts},
      {"lanes", 8, change_lanes},
      {"columns", 4, change_columns},
      {"a schema that runs", 2, add_schema_that_runs},
      {"a damaged schema", 2, damage_schema},
  };
  return table;
}

}  // namespace vitrine::fuzz
