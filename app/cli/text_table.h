// Columns of text for a terminal: left or right aligned, two spaces between, no lines. Widths count UTF-8
// characters.
#pragma once

#include <string>
#include <vector>

namespace vitrine::cli {

class TextTable {
 public:
  // A title that starts with '>' is right-aligned: numbers.
  explicit TextTable(std::vector<std::string> titles);
  void row(std::vector<std::string> cells);  // a cell is one line: what would break it is written out
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  std::vector<std::string> titles_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// "1.25 ms": three digits and a unit; "–" for 0 or less, which means not measured.
std::string nanoseconds(double ns);
std::string bytes(int64_t n);

}  // namespace vitrine::cli
