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
  // Titles in the order in which their columns are left out, where a line has no room even for elided words:
  // a line below the table names them, and what prints them. Before them go those that are empty in each row.
  void least(std::vector<std::string> titles, std::string printed_by = "--wide");
  // The columns of `least` go before words are cut below that.
  void readable(size_t width) { readable_ = width; }
  void whole(const std::string& title);  // of sizes: first of all the others are elided
  // width: what a line may take; where that is less than it needs, columns of words are elided in their
  // middle. 0: any. Numbers are never elided.
  std::string text(size_t width = 0) const;

 private:
  // Of the columns that stand: as wide as their longest cell; made to fit; whether they can.
  using Columns = std::vector<size_t>;
  std::vector<size_t> natural_widths() const;
  bool fits(const std::vector<size_t>& widths, const Columns& columns, size_t line) const;
  Columns columns_in(const std::vector<size_t>& widths, size_t line) const;
  void fit(std::vector<size_t>& widths, const Columns& columns, size_t line) const;
  size_t taken(const std::vector<size_t>& widths, const Columns& columns, size_t most) const;
  bool says_anything(size_t column) const;
  std::string left_out(const Columns& columns, size_t line) const;

  std::vector<std::string> titles_, least_;
  std::string printed_by_;
  std::vector<bool> right_, whole_;
  size_t readable_ = 0;
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
