// Sessions as an enemy would write them: whatever a file holds, it is printed or refused, in bounded memory.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "core/session/notes_beside.h"
#include "tests/fuzz/sessions/database.h"
#include "tests/fuzz/sessions/hostile_values.h"
#include "tests/fuzz/sessions/reading.h"
#include "tests/fuzz/sessions/session_file.h"
#include "tests/fuzz/sessions/session_mutator.h"
#include "tests/unit/sweep.h"

using namespace vitrine;
namespace fs = std::filesystem;

namespace {

constexpr int kRows = 40;                           // of a table
constexpr uint64_t kCases = kEvery > 1 ? 25 : 100;  // of each session; fuzz_reader makes the others

std::vector<fs::path> files_below(const char* folder, const char* ending) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ending) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  REQUIRE(!out.empty());
  return out;
}

#ifdef __SANITIZE_ADDRESS__
constexpr long kMegabytes = 2000;  // the sanitizer keeps what was freed
#else
constexpr long kMegabytes = 500;
#endif

// In megabytes, of the whole process: the largest until now.
long peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

}  // namespace

TEST_CASE("the first hundred mutations of each kept session are printed or refused") {
  const fuzz::SessionFile file;
  size_t printed = 0;
  for (const fs::path& path : files_below("tests/sessions", ".vitrine")) {
    const std::string base = fuzz::small_session(fuzz::read_file(path), kRows);
    for (uint64_t seed = 0; seed < kCases; ++seed) {
      CAPTURE(path.string());
      CAPTURE(seed);
      file.write(fuzz::mutate_session(base, seed));
      printed += fuzz::print_everything(file.path()) > 0;
    }
  }
  CHECK(printed > kCases / 2);  // most mutations leave a session that opens
  CHECK(peak_memory() < kMegabytes);
}

TEST_CASE("what crashed a reader once is printed or refused") {
  const fuzz::SessionFile file;
  for (const fs::path& session : files_below("tests/sessions", ".vitrine")) {
    for (const fs::path& kept : files_below("tests/fuzz/kept/sessions", ".sql")) {
      CAPTURE(kept.string());
      fuzz::Database db(fuzz::small_session(fuzz::read_file(session), kRows));
      REQUIRE(db.ok());
      db.run(fuzz::read_file(kept));
      file.write(db.bytes());
      fuzz::print_everything(file.path());
      fuzz::copy_to_share(file.path());
    }
  }
}

TEST_CASE("a mutation is decided by its seed alone") {
  const std::string base = fuzz::read_file(files_below("tests/sessions", ".vitrine").front());
  CHECK(fuzz::mutate_session(base, 7) == fuzz::mutate_session(base, 7));
  CHECK(fuzz::mutate_session(base, 7) != fuzz::mutate_session(base, 8));
}

TEST_CASE("notes that came with a session are words for its things, or nothing") {
  const fuzz::SessionFile file;
  const std::string path = file.path(), beside = path + "-notes";
  session::NotesBeside notes;
  for (Id id = 1; id < 9; ++id)
    notes[id] = id % 3 ? std::optional("note " + std::to_string(id)) : std::nullopt;
  file.write("");
  REQUIRE(!session::write_notes_beside(path, "17", notes));
  const std::string whole = fuzz::read_file(beside);
  REQUIRE(session::read_notes_beside(path, "17") == notes);
  CHECK(session::read_notes_beside(path, "18").empty());
  size_t read = 0;
  fuzz::Random random(1);
  for (int i = 0; i < 3000; ++i) {
    CAPTURE(i);
    std::string bytes = whole;
    random.of(fuzz::byte_mutations()).apply(bytes, random);
    if (random.one_in(2)) {
      const std::string value = fuzz::hostile_text(random);
      bytes = whole;
      bytes.replace(random.below(bytes.size()), random.below(20), value.substr(0, 200'000));
    }
    REQUIRE(fuzz::write_file(beside, bytes));
    for (const auto& [id, text] : session::read_notes_beside(path, "17")) {
      CHECK(id > 0);
      read += text ? 1 : 0;
    }
  }
  CHECK(read > 1000);  // most keep some
  for (const std::string& bytes :
       {std::string(4'000'000, '['), R"({"session":"17","notes":)" + std::string(4'000'000, '['),
        R"({"session":"17","notes":{"1":)" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}}",
        std::string(5 << 20, ' ')}) {
    REQUIRE(fuzz::write_file(beside, bytes));
    CHECK(session::read_notes_beside(path, "17").empty());
  }
  CHECK(peak_memory() < kMegabytes);
}
