// What is kept of the last lines of a process that died.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>

#include "core/session/last_words.h"

using vitrine::session::last_words;

TEST_CASE("the last words are the last lines, or what Python says of a crash") {
  std::string many;
  for (int i = 0; i < 40; ++i) many += "step " + std::to_string(i) + "\n";
  CHECK(last_words(many).starts_with("step 28\n"));
  CHECK(last_words(many).ends_with("step 39"));
  CHECK(last_words("") == "");
  CHECK(last_words("\x1b[2mvitrine: run m.py\x1b[0m\n\x1b[31mno\x1b[0m memory\n") == "no memory");
  CHECK(last_words("10 %\r20 %\r30 %\n") == "30 %");
  CHECK(last_words(
            "started\nterminate called after throwing an instance of 'std::bad_alloc'\nFatal Python error: "
            "Aborted\n\n"
            "Thread 0x1:\n  File \"q.py\", line 1\n\nCurrent thread 0x2:\n  File \"m.py\", line 3 in f\n\n"
            "Extension modules: torch._C (total: 21)\n") ==
        "started\nterminate called after throwing an instance of 'std::bad_alloc'\nFatal Python error: "
        "Aborted\n"
        "  File \"m.py\", line 3 in f");
}
