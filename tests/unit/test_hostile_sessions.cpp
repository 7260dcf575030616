// Sessions as an enemy would write them: whatever a file holds, it is printed or refused, in bounded memory.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "tests/fuzz/sessions/database.h"
#include "tests/fuzz/sessions/reading.h"
#include "tests/fuzz/sessions/session_file.h"
#include "tests/fuzz/sessions/session_mutator.h"

using namespace vitrine;
namespace fs = std::filesystem;

namespace {

constexpr int kRows = 40;         // of a table
constexpr uint64_t kCases = 100;  // of each session; fuzz_reader makes the others

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
    }
  }
}

TEST_CASE("a mutation is decided by its seed alone") {
  const std::string base = fuzz::read_file(files_below("tests/sessions", ".vitrine").front());
  CHECK(fuzz::mutate_session(base, 7) == fuzz::mutate_session(base, 7));
  CHECK(fuzz::mutate_session(base, 7) != fuzz::mutate_session(base, 8));
}
