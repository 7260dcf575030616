// A copy that is given away holds what explains the compilation, and nothing that the run met besides.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/session/reader.h"
#include "core/session/shared_copy.h"
#include "core/session/writer.h"

using namespace vitrine;
using namespace vitrine::session;
namespace fs = std::filesystem;

namespace {

constexpr const char* kSecret = "hunter2";

std::string quoted() {
  return std::string("'") + kSecret + "'";
}

// A row whose every text holds the secret: what is in no quotes must not stay either, unless it is named.
template <class Row>
Row full_of(const std::string& text) {
  Row row;
  Row::each(row, [&](const char*, auto& field) {
    if constexpr (std::is_convertible_v<std::decay_t<decltype(field)>, std::string_view>) field = text;
  });
  return row;
}

void write_session(const std::string& path) {
  auto w = Writer::create(path).take();
  w->meta("file", "/home/user/plans/model.py");
  w->meta(
      "arguments",
      R"(["--repeats=3","--entry=/home/user/x.py:f","--edited=/home/user/a=b","--","--token","hunter2"])");
  w->meta("environment", kSecret);
  w->meta("torch", "2.9");
  w->meta("note:17592186044417", "look here");
  w->put(FileRow{w->next(Kind::File), "/home/user/plans/model.py", "", w->blob("def f(x): return x\n"), 1});
  GuardRow guard = full_of<GuardRow>("");
  guard.id = w->next(Kind::Guard), guard.source = "L['x']", guard.kind = "value",
  guard.expected = "== " + quoted();
  w->put(guard);
  StepRow step = full_of<StepRow>(quoted());
  step.id = w->next(Kind::Step), step.event = "const";
  step.effect = R"({"pop":0,"push":[{"kind":"constant","text":"'hunter2'","type":"str"}],"store":{}})";
  w->put(step);
  BreakRow broken = full_of<BreakRow>("print(" + quoted() + ")");
  broken.id = w->next(Kind::Break), broken.kind = "print",
  broken.stack = R"([{"file":"/home/user/plans/model.py","line":3}])";
  w->put(broken);
  RecompilationRow again = full_of<RecompilationRow>(quoted());
  again.id = w->next(Kind::Recompilation), again.old_value = kSecret, again.new_value = kSecret;
  w->put(again);
  CompilationRow compilation;
  compilation.id = w->next(Kind::Compilation), compilation.label = "0/0", compilation.message = kSecret;
  w->put(compilation);
  MessageRow message = full_of<MessageRow>(kSecret);
  message.id = w->next(Kind::Message), message.origin = "user", message.severity = "error";
  message.about = "memory";
  w->put(message);
  message.id = w->next(Kind::Message), message.origin = "vitrine";
  message.text = "The graph of " + quoted() + " in /home/user/plans/model.py runs as eager.";
  w->put(message);
  KernelRow kernel;
  kernel.id = w->next(Kind::Kernel), kernel.label = "K0", kernel.error = kSecret;
  kernel.ir = w->blob("!1 = !DIFile(filename: \"k.cpp\", directory: \"/home/user/.cache/vitrine\")\n");
  w->put(kernel);
  w->finish("finished");
}

// Every text of a session, one a line.
std::string texts_of(const std::string& path) {
  auto r = Reader::open(path).take();
  std::string out;
  auto add = [&](auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_convertible_v<Field, std::string_view>) out += field + "\n";
    if constexpr (std::is_same_v<Field, BlobRef>) out += r->text(field) + "\n";
  };
#define X(Row) \
  for (Row & row : r->all<Row>()) Row::each(row, [&](const char*, auto& field) { add(field); });
  VITRINE_TABLES(X)
#undef X
  return out;
}

}  // namespace

TEST_CASE("a copy to share keeps what explains the compilation, and no secret of the run") {
  std::string name = (fs::temp_directory_path() / "vitrine_shared_XXXXXX").string();
  const std::string folder = mkdtemp(name.data());
  setenv("XDG_STATE_HOME", (folder + "/state").c_str(), 1);
  const std::string from = folder + "/s.vitrine", to = folder + "/copy.vitrine";
  write_session(from);
  REQUIRE(write_shared_copy(from, to) == std::nullopt);
  const std::string all = texts_of(to);
  INFO(all);
  for (const char* gone : {kSecret, "user/", "plans", "--token", "--edited", "environment", "pid:["})
    CHECK(all.find(gone) == std::string::npos);
  for (const char* kept : {"…/model.py", "def f(x): return x", "L['x']", "== '…'", "print('…')",
                           "--repeats=3", "2.9", "look here", "0/0", "K0", "runs as eager"})
    CHECK(all.find(kept) != std::string::npos);
  struct stat st{};
  REQUIRE(stat(to.c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
  CHECK(write_shared_copy(from, from) != std::nullopt);
  std::ofstream(folder + "/other") << "mine";
  CHECK(write_shared_copy(from, folder + "/other") != std::nullopt);
  CHECK(fs::file_size(folder + "/other") == 4);
  CHECK(keep_shared_copy_only(from) == std::nullopt);
  CHECK(texts_of(from).find(kSecret) == std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("of a path only its last name stays, of a string only its quotes") {
  CHECK(without_folders("in /home/user/b.py:3, \"/x/y\" and a / b") == "in …/b.py:3, \"…/y\" and a / b");
  CHECK(without_folders("/tmp and 1/2/3 and //x") == "/tmp and 1/2/3 and //x");
  CHECK(without_strings("== 'a\\'b' or b\"c\", it's '' x") == "== '…' or b\"…\", it's '' x");
  CHECK(without_strings("== 'open") == "== '…");
}
