#include "core/base/closest.h"

#include <algorithm>
#include <cctype>

namespace vitrine {

namespace {

constexpr size_t kLongest = 64;  // of what is compared

std::string small(std::string_view text) {
  std::string out(text.substr(0, kLongest));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

size_t edit_distance(std::string_view first, std::string_view second) {
  const std::string a = small(first), b = small(second);
  std::vector<std::vector<size_t>> to(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) to[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) to[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      to[i][j] = std::min({to[i - 1][j] + 1, to[i][j - 1] + 1, to[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        to[i][j] = std::min(to[i][j], to[i - 2][j - 2] + 1);
    }
  return to[a.size()][b.size()];
}

std::string closest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  size_t least = std::max<size_t>(1, small(word).size() / 3) + 1;  // a third of the letters may be wrong
  for (const std::string& name : known) {
    const size_t distance = edit_distance(word, name);
    if (distance < least) least = distance, best = name;
  }
  if (!best.empty() || word.size() < 2) return best;
  for (const std::string& name : known)
    if (small(name).starts_with(small(word))) return name;
  return "";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string name = closest(word, known);
  return name.empty() ? "" : " Did you mean \"" + name + "\"?";
}

}  // namespace vitrine
