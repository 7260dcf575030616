// Opening what somebody else sent: nothing beside the session is read, deleted or written, nothing in it
// runs, and what it claims costs no more than a file of its size may.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/session/abandoned.h"
#include "core/session/borders.h"
#include "core/session/notes.h"
#include "core/session/reader.h"
#include "core/session/shared_copy.h"
#include "core/session/writer.h"

using namespace vitrine;
using namespace vitrine::session;
namespace fs = std::filesystem;

namespace {

// A folder with a state folder of its own, so that nothing recorded elsewhere is known.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "vitrine_opening_XXXXXX").string();
    path_ = mkdtemp(name.data());
    setenv("XDG_STATE_HOME", (path_ + "/state").c_str(), 1);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void execute(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  char* message = nullptr;
  sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message);
  INFO((message ? message : ""));
  CHECK(message == nullptr);
  sqlite3_free(message);
  sqlite3_close(db);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr Id kFrame = make_id(Kind::Frame, 1), kSegment = make_id(Kind::Segment, 1),
             kCompilation = make_id(Kind::Compilation, 1), kCode = make_id(Kind::Code, 1),
             kMessage = make_id(Kind::Message, 1);

// One row of what views read; then `sql` makes it a stranger's.
void write(const std::string& path, const std::string& sql = "") {
  auto w = Writer::create(path).take();
  w->put(RunRow{w->next(Kind::Run), "a.py"});
  w->put(CodeRow{w->next(Kind::Code), 0, "f", 3, 9});
  w->put(FrameRow{w->next(Kind::Frame), make_id(Kind::Run, 1), kCode, "captured", ""});
  w->put(SegmentRow{w->next(Kind::Segment), kFrame, 0, 0, 0, 0});
  CompilationRow compilation;
  compilation.id = w->next(Kind::Compilation);
  compilation.segment = kSegment;
  w->put(compilation);
  for (int i = 0; i < 3; ++i) {
    StepRow step;
    step.id = w->next(Kind::Step);
    step.compilation = kCompilation;
    step.ordinal = i;
    step.depth = i;
    w->put(step);
  }
  FileRow file{w->next(Kind::File), "a.py", "", w->blob(std::string(5000, 'x')), 1};
  w->put(file);
  w->finish("finished");
  if (!sql.empty()) execute(path, sql);
}

std::string why(const std::string& path) {
  auto opened = Reader::open(path);
  return opened ? "" : opened.error().what;
}

// A journal that names another file, which SQLite deletes once it has looked into the journal.
void plant_journal(const std::string& session, const std::string& victim) {
  auto number = [](uint32_t v) {
    return std::string{static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8),
                       static_cast<char>(v)};
  };
  const std::string magic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  uint32_t sum = 0;
  for (char c : victim) sum += static_cast<uint32_t>(static_cast<signed char>(c));
  const auto pages = static_cast<uint32_t>(fs::file_size(session) / 8192);
  std::string head = magic + number(0) + number(0) + number(pages) + number(512) + number(8192);
  head.resize(512, '\0');
  std::ofstream(session + "-journal", std::ios::binary)
      << head << number(0x40000000 / 8192 + 1) << victim << number(static_cast<uint32_t>(victim.size()))
      << number(sum) << magic;
}

}  // namespace

TEST_CASE("a journal beside a session is never played back, and deletes nothing") {
  Folder folder;
  const std::string path = folder.file("x.vitrine"), victim = folder.file("victim");
  write(path);
  std::ofstream(victim) << "precious";
  plant_journal(path, victim);
  CHECK(why(path).empty());  // recorded here: it is whole without
  fs::copy_file(path, folder.file("y.vitrine"));
  execute(folder.file("y.vitrine"), "UPDATE run SET label = 'b.py'");  // a stranger's by now
  plant_journal(folder.file("y.vitrine"), victim);
  CHECK(why(folder.file("y.vitrine")).find("y.vitrine-journal is not read") != std::string::npos);
  close_if_abandoned(path);
  close_if_abandoned(folder.file("y.vitrine"));
  CHECK(fs::exists(victim));
  CHECK(fs::exists(path + "-journal"));
  // Neither beside one that is being written, which is opened with its log.
  auto w = Writer::create(folder.file("z.vitrine")).take();
  w->commit();
  plant_journal(folder.file("z.vitrine"), victim);
  CHECK(why(folder.file("z.vitrine")).empty());
  CHECK(fs::exists(victim));
}

TEST_CASE("a log beside a stranger's session is refused, and stays as it is") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  write(path, "UPDATE run SET label = 'b.py'");
  std::ofstream(path + "-wal") << std::string(5000, 'w');
  const std::string before = bytes_of(path);
  CHECK(why(path).find("x.vitrine-wal is not read") != std::string::npos);
  CHECK_FALSE(close_abandoned(path).ok());
  CHECK(bytes_of(path + "-wal") == std::string(5000, 'w'));
  CHECK(bytes_of(path) == before);
  CHECK_FALSE(fs::exists(path + "-shm"));
}

TEST_CASE("nothing but a plain file is opened, and none of them is waited for") {
  Folder folder;
  const std::string pipe = folder.file("pipe.vitrine");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(why(pipe).find("it is a pipe") != std::string::npos);
  CHECK(why(folder.file("")).find("it is a folder") != std::string::npos);
  CHECK(why("/dev/zero").find("it is a device") != std::string::npos);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = folder.file("s.vitrine");
  std::copy(name.begin(), name.end(), address.sun_path);
  const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(why(name).find("it is a socket") != std::string::npos);
  close(listening);
  CHECK_FALSE(Writer::create(pipe).ok());
  write(folder.file("x.vitrine"));
  fs::create_symlink("x.vitrine", folder.file("link.vitrine"));
  CHECK(why(folder.file("link.vitrine")).empty());
}

TEST_CASE("SQL of the file's author is refused by name before anything is asked") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  const std::pair<const char*, const char*> cases[] = {
      {"CREATE TRIGGER t AFTER UPDATE ON meta BEGIN DELETE FROM run; END", "trigger \"t\""},
      {"CREATE VIEW v AS SELECT 1", "view \"v\""},
      {"ALTER TABLE run RENAME TO old; CREATE VIEW run AS SELECT * FROM old", "\"old\""},
      {"CREATE TABLE other(x)", "table \"other\""},
      {"CREATE VIRTUAL TABLE other USING fts5(x)", "\"other\""},
      {"DROP TABLE name; CREATE TABLE name(id INTEGER PRIMARY KEY, text CHECK(text LIKE '%a'))",
       "table \"name\""},
      {"ALTER TABLE run ADD COLUMN more TEXT AS (hex(zeroblob(100000000)))", "table \"run\""},
      {"ALTER TABLE run ADD COLUMN more TEXT DEFAULT 'x'", "table \"run\""},
      {"CREATE INDEX i ON run(label)", "index \"i\""},
      {"CREATE INDEX i ON run(label) WHERE label LIKE '%a'", "index \"i\""},
      {"CREATE INDEX i ON run(lower(label))", "index \"i\""},
      {"DROP INDEX link_origin; CREATE INDEX link_origin ON link(origin COLLATE NOCASE)",
       "index \"link_origin\""},
      {"ANALYZE", "sqlite_stat"},
  };
  for (const auto& [sql, name] : cases) {
    INFO(sql);
    write(path, sql);
    const std::string before = bytes_of(path);
    const std::string said = why(path);
    CHECK(said.find(name) != std::string::npos);
    CHECK_FALSE(write_note(path, kMessage, "x") == std::nullopt);
    CHECK(bytes_of(path) == before);
    fs::remove(path);
  }
}

TEST_CASE("columns and tables of before they were introduced read as their default") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  write(path,
        "DROP TABLE sample; ALTER TABLE compilation DROP COLUMN autograd; ALTER TABLE code DROP COLUMN "
        "last_line");
  auto r = Reader::open(path);
  REQUIRE(r.ok());
  CHECK(r.value()->all<SampleRow>().empty());
  CHECK(r.value()->all<CompilationRow>().size() == 1);
  CHECK(r.value()->all<CodeRow>().at(0).first_line == 3);
  CHECK(r.value()->all<CodeRow>().at(0).last_line == 0);
  CHECK(r.value()->damage().empty());
}

TEST_CASE("a value that a column cannot hold reads as its default, and the column is told") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  const std::string evil[] = {
      "-5", "-9223372036854775808", "9223372036854775807", "1099511627776", "'text'", "1e300", "x'00'"};
  for (const std::string& value : evil) {
    INFO(value);
    write(path, "UPDATE code SET first_line = " + value);
    auto r = Reader::open(path).take();
    CHECK(r->all<CodeRow>().at(0).first_line == 0);
    CHECK(r->damage().find("code.first_line") != std::string::npos);
    write(path, "UPDATE run SET eager_ns = 9e999; UPDATE step SET depth = " + value);
    r = Reader::open(path).take();
    CHECK(r->all<RunRow>().at(0).eager_ns == 0);
    for (const StepRow& step : r->all<StepRow>("ORDER BY ordinal")) CHECK(step.depth == 0);
  }
  // A reference leads to a thing of its kind, or nowhere: no walk from one to the next can go round.
  write(path, "UPDATE segment SET frame = " + std::to_string(kCompilation));
  auto r = Reader::open(path).take();
  CHECK(r->all<SegmentRow>().at(0).frame == 0);
  CHECK(r->damage().find("segment.frame") != std::string::npos);
  write(path, "UPDATE frame SET id = 7");
  r = Reader::open(path).take();
  CHECK(r->all<FrameRow>().empty());  // nothing can name it
}

TEST_CASE("what a column is by default lies within its border"){
#define X(Row)                                                                                      \
  {                                                                                                 \
    const Row row;                                                                                  \
    Row::each(row, [](const char* name, const auto& field) {                                        \
      INFO(Row::table, ".", name);                                                                  \
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, int64_t>)                         \
        CHECK((std::string_view(name) == "id" || within(integer_border(Row::table, name), field))); \
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, double>)                          \
        CHECK(within(real_border(Row::table), field));                                              \
    });                                                                                             \
  }
    VITRINE_TABLES(X)
#undef X
}

TEST_CASE("a step is at most one call deeper than the one before it") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  write(path, "UPDATE step SET depth = 4000 WHERE ordinal > 0");
  std::vector<int64_t> depths;
  for (const StepRow& step : Reader::open(path).take()->all<StepRow>("ORDER BY ordinal"))
    depths.push_back(step.depth);
  CHECK(depths == std::vector<int64_t>{0, 1, 2});
}

TEST_CASE("a text is unpacked as far as it goes, whatever it claims") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  for (const char* claim : {"-1", "2147483647", "4999", "5001", "9223372036854775807"}) {
    write(path, std::string("UPDATE blob SET raw_bytes = ") + claim);
    auto r = Reader::open(path).take();
    CHECK(r->text(r->all<FileRow>().at(0).text).empty());
    CHECK_FALSE(r->damage().empty());
  }
  // An honest frame of more than a file of its size may unpack to; recorded here it is read.
  auto w = Writer::create(path).take();
  w->put(FileRow{w->next(Kind::File), "a.py", "", w->blob(std::string(80 << 20, 'x')), 1});
  w->finish("finished");
  CHECK(Reader::open(path).take()->text({1}).size() == 80 << 20);
  execute(path, "UPDATE file SET path = 'b.py'");
  auto r = Reader::open(path).take();
  CHECK(r->text({1}).empty());
  CHECK(r->damage().find("texts are larger") != std::string::npos);
}

TEST_CASE("more rows than a file of its size may have are not read") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  write(path,
        "INSERT INTO message(id, text) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT "
        "400000) "
        "SELECT " +
            std::to_string(kMessage) + " + i, '' FROM n");
  auto r = Reader::open(path).take();
  const auto rows = r->all<MessageRow>();
  CHECK(rows.size() < 400000);
  CHECK(rows.size() > 1000);
  CHECK(r->damage().find("message has more rows") != std::string::npos);
}

TEST_CASE("what this user recorded is trusted where it lies and where it is copied to, until it is changed") {
  Folder folder;
  const std::string path = folder.file("x.vitrine"), copy = folder.file("copy.vitrine");
  auto trusted = [](const std::string& name) { return Reader::open(name).take()->trusted(); };
  write(path);
  CHECK(trusted(path));
  fs::copy_file(path, copy);
  CHECK(trusted(copy));
  fs::rename(copy, folder.file("moved.vitrine"));
  CHECK(trusted(folder.file("moved.vitrine")));
  execute(path, "UPDATE meta SET value = 'other.py' WHERE key = 'status'");
  CHECK_FALSE(trusted(path));
  CHECK(trust_session(path) == std::nullopt);
  CHECK(trusted(path));
  // Somebody else's state folder knows nothing of it; one that others can write into is not used.
  setenv("XDG_STATE_HOME", folder.file("elsewhere").c_str(), 1);
  CHECK_FALSE(trusted(path));
  CHECK(trust_session(path) == std::nullopt);
  fs::permissions(folder.file("elsewhere"), fs::perms::all);
  CHECK_FALSE(trusted(path));
}

TEST_CASE("a session is readable by its user alone, whatever the umask") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  const mode_t before = umask(0);
  auto w = Writer::create(path).take();
  w->meta("a", "b");
  w->commit();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat st{};
    REQUIRE(stat((path + suffix).c_str(), &st) == 0);
    CHECK((st.st_mode & 0777) == 0600);
  }
  w->finish("finished");
  umask(before);
}

TEST_CASE("a killed engine's session is closed where it was recorded here, and only there") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  auto die = [&] {
    const pid_t child = fork();
    if (child == 0) {
      auto w = Writer::create(path).take();
      w->put(RunRow{w->next(Kind::Run), "a.py", "", "", "", "", "running"});
      w->commit();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  };
  die();
  close_if_abandoned(path);
  CHECK_FALSE(fs::exists(path + "-wal"));
  auto r = Reader::open(path).take();
  CHECK(r->meta("status") == "died");
  CHECK(r->all<RunRow>().at(0).status == "died");
  CHECK(r->trusted());
  // A stranger's that says it is running reads as died, and stays as it is.
  execute(path, "UPDATE meta SET value = 'running' WHERE key = 'status'; UPDATE run SET status = 'running'");
  const std::string before = bytes_of(path);
  close_if_abandoned(path);
  CHECK(close_abandoned(path).ok());
  r = Reader::open(path).take();
  CHECK(r->meta("status") == "died");
  CHECK(r->all<RunRow>().at(0).status == "died");
  CHECK(bytes_of(path) == before);
}

TEST_CASE("what is known of a death becomes a message of the run") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  const pid_t child = fork();
  if (child == 0) {
    auto w = Writer::create(path).take();
    w->put(RunRow{w->next(Kind::Run), "a.py", "", "", "", "", "running"});
    MessageRow earlier;
    earlier.id = w->next(Kind::Message);
    w->put(earlier);
    w->commit();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  const Death death{"The engine was ended by signal 9 (Killed).", "Memory?", "step 3\nstep 4"};
  CHECK(close_abandoned(path, Whose::Mine, Abandonment::Died, death).ok());
  CHECK(close_abandoned(path, Whose::Mine, Abandonment::Died, death).ok());  // told once
  const auto rows = Reader::open(path).take()->all<MessageRow>("ORDER BY id");
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].text == death.text);
  CHECK(rows[1].hint == death.hint);
  CHECK(rows[1].detail == death.words);
  CHECK(rows[1].severity == "error");
  CHECK(kind_of(rows[1].run) == Kind::Run);
}

TEST_CASE("notes on a stranger's session stand beside it") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  auto notes = [&] {
    std::map<std::string, std::string> meta;
    for (const MetaRow& row : Reader::open(path).take()->all<MetaRow>()) meta[row.key] = row.value;
    add_notes_beside(path, meta);
    return notes_of(meta);
  };
  write(path, "INSERT INTO meta VALUES ('note:" + std::to_string(kMessage) + "', 'theirs')");
  const std::string before = bytes_of(path);
  CHECK(write_note(path, kCode, "mine") == std::nullopt);
  CHECK(notes() == std::map<Id, std::string>{{kMessage, "theirs"}, {kCode, "mine"}});
  CHECK(remove_note(path, kMessage) == std::nullopt);
  CHECK(notes() == std::map<Id, std::string>{{kCode, "mine"}});
  CHECK(bytes_of(path) == before);
  struct stat st{};
  REQUIRE(stat((path + "-notes").c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
  for (const std::string& bad :
       {std::string("{"), std::string(100000, '['), std::string("{\"session\":1}"),
        std::string("{\"session\":\"\",\"notes\":{\"-1\":\"x\",\"a\":3}}"), std::string(8 << 20, ' ')}) {
    std::ofstream(path + "-notes") << bad;
    CHECK(notes().count(kCode) == 0);
  }
}

TEST_CASE("a copy to share of a stranger's session is a stranger's") {
  Folder folder;
  const std::string path = folder.file("x.vitrine"), copy = folder.file("copy.vitrine");
  write(path);
  CHECK(write_shared_copy(path, copy) == std::nullopt);
  CHECK(Reader::open(copy).take()->trusted());
  execute(path, "UPDATE meta SET value = 'other.py' WHERE key = 'status'");
  CHECK_FALSE(Reader::open(path).take()->trusted());
  CHECK(write_shared_copy(path, copy) == std::nullopt);
  CHECK_FALSE(Reader::open(copy).take()->trusted());
}

TEST_CASE("notes on one's own session stand in it, and it stays trusted") {
  Folder folder;
  const std::string path = folder.file("x.vitrine");
  write(path);
  CHECK(write_note(path, kCode, "mine") == std::nullopt);
  CHECK(Reader::open(path).take()->meta("note:" + std::to_string(kCode)) == "mine");
  CHECK(Reader::open(path).take()->trusted());
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder.file(""))) files += entry.is_regular_file();
  CHECK(files == 1);  // no journal, no copy
}
