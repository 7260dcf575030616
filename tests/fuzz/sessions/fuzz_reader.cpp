// libFuzzer on the reader and on what the command line prints: an eighth of it each time, by the file's
// bytes.
#include <functional>

#include "tests/fuzz/sessions/fuzz_target.h"
#include "tests/fuzz/sessions/reading.h"
#include "tests/fuzz/sessions/session_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const vitrine::fuzz::SessionFile file;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  file.write(bytes);
  vitrine::fuzz::print_part(file.path(), std::hash<std::string_view>()(bytes), 8);
  return 0;
}
