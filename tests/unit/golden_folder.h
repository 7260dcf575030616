// A folder of golden files: each holds what is given, a line of dashes, and what must come of it.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace vitrine {

// rule: that line. make: of the text above it, the text below. BLESS=1 rewrites the expectations. Returns the
// number of files.
inline int check_golden_folder(const std::string& folder, const std::string& rule,
                               const std::function<std::string(const std::string&)>& make) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/" + folder)) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string whole = text.str();
    const size_t end = whole.find(rule);
    REQUIRE(end != std::string::npos);
    const std::string given = whole.substr(0, end), found = make(given);
    if (std::getenv("BLESS"))
      std::ofstream(entry.path()) << given << rule << found;
    else
      CHECK_MESSAGE(found == whole.substr(end + rule.size()), "found\n"
                                                                  << found << "to accept: BLESS=1 " << name);
    ++files;
  }
  return files;
}

}  // namespace vitrine
