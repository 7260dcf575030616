// make_fixture OUT.vitrine [COPIES]: writes the fixture session, to look at views before there are
// recordings.
#include <cstdio>
#include <cstdlib>

#include "tests/gui/fixture_session.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: make_fixture OUT.vitrine [COPIES]\n", stderr);
    return 2;
  }
  vitrine::fixture::writeSession(argv[1], argc > 2 ? std::atoi(argv[2]) : 1);
}
