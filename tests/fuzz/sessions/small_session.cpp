// small_session IN ROWS OUT: a session for a fuzzer's corpus, with at most ROWS rows a table.
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/sessions/database.h"
#include "tests/fuzz/sessions/session_file.h"

int main(int argc, char** argv) {
  if (argc != 4) return std::fputs("small_session IN ROWS OUT\n", stderr), 2;
  const std::string bytes =
      vitrine::fuzz::small_session(vitrine::fuzz::read_file(argv[1]), std::atoi(argv[2]));
  return bytes.empty() || !vitrine::fuzz::write_file(argv[3], bytes);
}
