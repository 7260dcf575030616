// Sources and bytecode of the two small models of the fixture: what CPython 3.11 makes of them.
#pragma once

#include <string_view>
#include <vector>

namespace vitrine::fixture {

struct Ins {
  int pc;
  const char* op;
  int arg;
  const char* argrepr;
  int line, col, end_line, end_col, target;
};

extern const std::string_view kBlockSource, kGatedSource;
extern const std::vector<Ins> kBlockForward, kAttentionForward, kGatedForward;

}  // namespace vitrine::fixture
