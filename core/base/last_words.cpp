#include "core/base/last_words.h"

#include <algorithm>
#include <vector>

namespace vitrine {

namespace {

constexpr size_t kMostLines = 12;

// What steers a terminal says nothing here.
std::string without_colours(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b' || i + 1 >= text.size() || text[i + 1] != '[') {
      out += text[i];
      continue;
    }
    for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~');) ++i;
  }
  return out;
}

// Of the engine itself: what it said of its progress, and its frames below the user's.
bool is_ours(std::string_view line) {
  return line.starts_with("Extension modules:") || line.starts_with("vitrine: ") ||
         line.starts_with("  File \"<frozen runpy>\"") ||
         (line.starts_with("  File ") && line.find("/vitrine/_tools/") != line.npos);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (const size_t over = line.rfind('\r', line.size() - std::min<size_t>(line.size(), 2));
        over != line.npos)
      line.remove_prefix(over + 1);  // a progress bar writes over what it wrote
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (!line.empty() && !is_ours(line)) out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string last_words(std::string_view written) {
  const std::string plain = without_colours(written);
  const std::vector<std::string_view> lines = lines_of(plain);
  auto first = [&](std::string_view begin, size_t from) {
    for (size_t i = from; i < lines.size(); ++i)
      if (lines[i].starts_with(begin)) return i;
    return lines.size();
  };
  std::vector<std::string_view> kept;
  const size_t crash = first("Fatal Python error:", 0);
  size_t from = lines.size() - std::min(lines.size(), kMostLines);
  if (crash < lines.size()) {
    // What the code itself said before, say why it aborts, tells the most.
    for (size_t i = crash - std::min<size_t>(crash, 3); i <= crash; ++i) kept.push_back(lines[i]);
    const size_t thread = first("Current thread ", crash);
    from = (thread < lines.size() ? thread : crash) + 1;
  }
  for (size_t i = from; i < std::min(lines.size(), from + kMostLines); ++i) kept.push_back(lines[i]);
  std::string out;
  for (const std::string_view line : kept) out += (out.empty() ? "" : "\n") + std::string(line);
  return out;
}

}  // namespace vitrine
