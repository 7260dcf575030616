// The session file: what is written is read back; a foreign, truncated or newer file is refused with its
// reason.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/session/reader.h"
#include "core/session/writer.h"

using namespace vitrine;
using namespace vitrine::session;
namespace fs = std::filesystem;

namespace {
struct TempFile {
  std::string path =
      (fs::temp_directory_path() / ("vitrine_test_" + std::to_string(getpid()) + ".vitrine")).string();
  ~TempFile() {
    for (const char* s : {"", "-wal", "-shm"}) fs::remove(path + s);
  }
};

// A small finished session: a file, two nodes, a kernel, one chain of links.
void write_small(const std::string& path, Id* node, Id* kernel) {
  auto w = Writer::create(path).take();
  FileRow file{w->next(Kind::File), "tiny.py", "",
               w->blob("print('a long enough text') # " + std::string(500, 'x')), 1};
  w->put(file);
  SpanRow span{w->next(Kind::Span), file.id, 3, 4, 3, 20};
  w->put(span);
  NodeRow n;
  n.id = w->next(Kind::Node);
  n.name = "gelu";
  w->put(n);
  KernelRow k;
  k.id = w->next(Kind::Kernel);
  k.label = "K0";
  w->put(k);
  w->link(span.id, n.id);
  w->link(n.id, k.id);
  w->finish("finished");
  *node = n.id;
  *kernel = k.id;
}
}  // namespace

TEST_CASE("rows, texts and links come back as written") {
  TempFile file;
  Id node = 0, kernel = 0;
  write_small(file.path, &node, &kernel);
  CHECK_FALSE(fs::exists(file.path + "-wal"));  // a finished session is one file
  auto opened = Reader::open(file.path);
  REQUIRE(opened.ok());
  Reader& r = *opened.value();
  CHECK(r.meta("status") == "finished");
  auto files = r.all<FileRow>();
  REQUIRE(files.size() == 1);
  CHECK(r.text(files[0].text).size() == 530);
  CHECK(r.row<NodeRow>(node).name == "gelu");
  auto chain = r.ancestors(kernel);
  REQUIRE(chain.size() == 2);
  CHECK(chain[0] == node);
  CHECK(kind_of(chain[1]) == Kind::Span);
  CHECK(r.descendants(chain[1]).back() == kernel);
}

TEST_CASE("a reader follows a writer, and a killed writer loses nothing that was committed") {
  TempFile file;
  auto w = Writer::create(file.path).take();
  auto r = Reader::open(file.path).take();
  int64_t before = r->change_count();
  w->put(RunRow{w->next(Kind::Run), "a.py"});
  w->commit();
  CHECK(r->change_count() != before);
  CHECK(r->all<RunRow>().size() == 1);
}

TEST_CASE("columns that a file does not have yet read as their default") {
  TempFile file;
  {
    auto w = Writer::create(file.path).take();
    InstructionRow row;
    row.id = w->next(Kind::Instruction);
    row.op = "CALL";
    w->put(row);
    w->finish("finished");
  }
  sqlite3* db = nullptr;
  sqlite3_open(file.path.c_str(), &db);
  sqlite3_exec(db, "ALTER TABLE instruction DROP COLUMN target; PRAGMA user_version=2", nullptr, nullptr,
               nullptr);
  sqlite3_close(db);
  auto r = Reader::open(file.path).take();
  const auto rows = r->all<InstructionRow>();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].op == "CALL");
  CHECK(rows[0].target == -1);
  CHECK(r->damage().empty());
}

TEST_CASE("what is not a session is refused with its reason") {
  TempFile file;
  auto why = [&] {
    auto r = Reader::open(file.path);
    return r.ok() ? std::string("opened") : r.error().what;
  };
  CHECK(why().find("does not exist") != std::string::npos);
  std::ofstream(file.path) << "";
  CHECK(why().find("empty") != std::string::npos);
  std::ofstream(file.path) << "short";  // another file, not one that was cut
  CHECK(why().find("another format") != std::string::npos);
  std::ofstream(file.path) << "SQLite for";
  CHECK(why().find("truncated (10 bytes)") != std::string::npos);
  std::ofstream(file.path) << std::string(4000, 'a');
  CHECK(why().find("another format") != std::string::npos);
  fs::remove(file.path);
  sqlite3* db = nullptr;
  sqlite3_open(file.path.c_str(), &db);
  sqlite3_exec(db, "CREATE TABLE t(x)", nullptr, nullptr, nullptr);
  CHECK(why().find("not a Vitrine session") != std::string::npos);
  sqlite3_exec(
      db, ("PRAGMA application_id=" + std::to_string(kApplicationId) + "; PRAGMA user_version=99").c_str(),
      nullptr, nullptr, nullptr);
  CHECK(why().find("newer Vitrine") != std::string::npos);
  sqlite3_close(db);
}

TEST_CASE("a file cut anywhere is refused or read in part, never a crash") {
  TempFile file;
  Id node = 0, kernel = 0;
  write_small(file.path, &node, &kernel);
  auto size = fs::file_size(file.path);
  for (auto keep = size; keep > 0; keep -= std::min<uintmax_t>(keep, 4099)) {
    fs::resize_file(file.path, keep);
    auto r = Reader::open(file.path);
    if (r.ok()) {
      r.value()->all<NodeRow>();
      r.value()->ancestors(kernel);
    } else {
      CHECK_FALSE(r.error().what.empty());
    }
  }
}
