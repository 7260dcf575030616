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
  // width: what a line may take; where that is less than it needs, columns of words are elided in their
  // middle. 0: any. Numbers are never elided.
  std::string text(size_t width = 0) const;

 private:
  void fit(std::vector<size_t>& widths, size_t line) const;
  std::vector<std::string> titles_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// Prose for a terminal: lines that are longer than `width` go on below, as far in as their text began. Words
// are never cut. 0: as it is.
std::string wrapped(const std::string& text, size_t width);

// Of more than `most` characters the ends, which tell most.
std::string elide_middle(const std::string& text, size_t most);

// "1.25 ms": three digits and a unit; "–" for 0 or less, which means not measured.
std::string nanoseconds(double ns);
std::string bytes(int64_t n);

}  // namespace vitrine::cli
