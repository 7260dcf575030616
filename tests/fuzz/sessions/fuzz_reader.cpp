// libFuzzer on the reader and on what the command line prints: an eighth of it each time, by the file's
// bytes; and a copy to share of one in 32.
#include <functional>

#include "tests/fuzz/sessions/fuzz_target.h"
#include "tests/fuzz/sessions/reading.h"
#include "tests/fuzz/sessions/session_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const vitrine::fuzz::SessionFile file;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  file.write(bytes);
  const size_t part = std::hash<std::string_view>()(bytes);
  vitrine::fuzz::print_part(file.path(), part, 8);
  if (part / 8 % 32 == 0) vitrine::fuzz::copy_to_share(file.path());
  return 0;
}
