#include "app/cli/text_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include "core/base/visible.h"

namespace vitrine::cli {

namespace {

constexpr size_t kNarrowest = 10;  // a column of words is never cut below
constexpr size_t kMostWhole = 32;  // nor a column that is whole, below this
constexpr size_t kWidest = 200;    // a cell beyond that moves its own row only

size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Three significant digits with the largest unit that keeps the number at or above 1.
std::string scaled(double value, double step, const std::vector<const char*>& units) {
  size_t unit = 0;
  while (unit + 1 < units.size() && value >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  std::array<char, 32> out{};
  int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(out.data(), out.size(), "%.*f %s", digits, value, units[unit]);
  return out.data();
}

}  // namespace

TextTable::TextTable(std::vector<std::string> titles) : titles_(std::move(titles)) {
  for (std::string& title : titles_) {
    right_.push_back(!title.empty() && title[0] == '>');
    if (right_.back()) title.erase(0, 1);
  }
  whole_.resize(titles_.size());
}

void TextTable::row(std::vector<std::string> cells) {
  for (std::string& cell : cells)
    if (std::any_of(cell.begin(), cell.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7F; }))
      cell = visible(cell);
  rows_.push_back(std::move(cells));
}

std::string elide_middle(const std::string& text, size_t most) {
  if (width(text) <= most || most < 2) return text;
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if ((text[i] & 0xC0) != 0x80) starts.push_back(i);
  const size_t tail = (most - 1) / 3, head = most - 1 - tail;
  return text.substr(0, starts[head]) + "…" + (tail ? text.substr(starts[starts.size() - tail]) : "");
}

// How far in a line's text goes on: below what follows "instead:"; further in than a row of columns begins.
static size_t hanging(const std::string& line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t word = std::min(line.find(' ', begin), line.size());
  if (begin && word > begin && line[word - 1] == ':') {
    const size_t text = std::min(line.find_first_not_of(' ', word), line.size());
    return begin + width(line.substr(begin, text - begin));
  }
  constexpr size_t kFurther = 4;
  return line.find("  ", begin) == std::string::npos ? begin : begin + kFurther;
}

std::string wrapped(const std::string& text, size_t most) {
  if (!most) return text;
  std::string out;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, end - from);
    const std::string indent(std::min(hanging(line), most / 2), ' ');
    const bool command = line.starts_with("  command ");  // is copied as one line
    while (!command && width(line) > most) {
      size_t cut = std::string::npos;  // behind the last word that fits
      const size_t begin = line.find_first_not_of(' ');
      for (size_t at = line.find(' ', begin); at != std::string::npos; at = line.find(' ', at + 1)) {
        if (width(line.substr(0, at)) > most && cut != std::string::npos) break;
        cut = at;
        if (width(line.substr(0, at)) > most) break;
      }
      if (cut == std::string::npos) break;
      const size_t next = line.find_first_not_of(' ', cut);
      out += line.substr(0, line.find_last_not_of(' ', cut) + 1) + "\n";
      if (next == std::string::npos) {
        line.clear();
        break;
      }
      line = indent + line.substr(next);
    }
    out += line + (end < text.size() ? "\n" : "");
    from = end + 1;
  }
  return out;
}

void TextTable::least(std::vector<std::string> titles, std::string printed_by) {
  least_ = std::move(titles);
  printed_by_ = std::move(printed_by);
}

void TextTable::whole(const std::string& title) {
  const auto at = std::find(titles_.begin(), titles_.end(), title);
  if (at != titles_.end()) whole_[static_cast<size_t>(at - titles_.begin())] = true;
}

// What a line takes where columns of words are cut at `most`.
size_t TextTable::taken(const std::vector<size_t>& widths, const Columns& columns, size_t most) const {
  size_t sum = columns.empty() ? 0 : 2 * (columns.size() - 1);
  for (const size_t i : columns)
    sum += right_[i] || whole_[i] ? widths[i] : std::min(widths[i], std::max(most, width(titles_[i])));
  return sum;
}

bool TextTable::fits(const std::vector<size_t>& widths, const Columns& columns, size_t line) const {
  return taken(widths, columns, std::max(kNarrowest, readable_)) <= line;
}

bool TextTable::says_anything(size_t column) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const auto& row) { return column < row.size() && !row[column].empty(); });
}

TextTable::Columns TextTable::columns_in(const std::vector<size_t>& widths, size_t line) const {
  Columns out(titles_.size());
  std::iota(out.begin(), out.end(), size_t{0});
  if (!line || least_.empty() || fits(widths, out, line)) return out;
  std::erase_if(out, [&](size_t i) { return !says_anything(i); });
  for (const std::string& title : least_)
    if (!fits(widths, out, line)) std::erase_if(out, [&](size_t i) { return titles_[i] == title; });
  return out;
}

void TextTable::fit(std::vector<size_t>& widths, const Columns& columns, size_t line) const {
  size_t most = kWidest;
  while (most > kNarrowest && taken(widths, columns, most) > line) --most;
  // What is left of the line goes to the columns that were cut, the first ones first.
  size_t left = line - std::min(line, taken(widths, columns, most));
  for (const size_t i : columns) {
    const size_t cut = std::max(most, width(titles_[i]));
    if (right_[i] || whole_[i] || widths[i] <= cut) continue;
    const size_t more = std::min(left, widths[i] - cut);
    widths[i] = cut + more;
    left -= more;
  }
}

std::vector<size_t> TextTable::natural_widths() const {
  std::vector<size_t> out;
  for (const std::string& title : titles_) out.push_back(width(title));
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) out[i] = std::min(kWidest, std::max(out[i], width(row[i])));
  return out;
}

// "Left out for want of room: kind, from (--wide)."
std::string TextTable::left_out(const Columns& columns, size_t line) const {
  std::string names;
  for (size_t i = 0; i < titles_.size(); ++i)
    if (says_anything(i) && std::find(columns.begin(), columns.end(), i) == columns.end() &&
        std::find(least_.begin(), least_.end(), titles_[i]) != least_.end())
      names += (names.empty() ? "" : ", ") + titles_[i];
  return names.empty() ? ""
                       : wrapped("Left out for want of room: " + names + " (" + printed_by_ + ").\n", line);
}

std::string TextTable::text(size_t line_width) const {
  std::vector<size_t> widths = natural_widths();
  for (size_t i = 0; line_width && i < widths.size(); ++i)
    if (whole_[i]) widths[i] = std::min(widths[i], kMostWhole);
  const Columns columns = columns_in(widths, line_width);
  if (line_width) fit(widths, columns, line_width);
  std::string out;
  auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (const size_t i : columns) {
      if (i >= cells.size()) continue;
      std::string pad(widths[i] - std::min(widths[i], width(cells[i])), ' ');
      text += (i == columns.front() ? "" : "  ") + (right_[i] ? pad + cells[i] : cells[i] + pad);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line(titles_);
  for (std::vector<std::string> row : rows_) {
    for (size_t i = 0; line_width && i < row.size(); ++i)
      if (!right_[i]) row[i] = elide_middle(row[i], widths[i]);
    line(row);
  }
  return out + left_out(columns, line_width);
}

std::string nanoseconds(double ns) {
  return ns <= 0 ? "–" : scaled(ns, 1000, {"ns", "µs", "ms", "s"});
}
std::string bytes(int64_t n) {
  return n <= 0 ? "–" : scaled(static_cast<double>(n), 1000, {"B", "kB", "MB", "GB", "TB"});
}

}  // namespace vitrine::cli
