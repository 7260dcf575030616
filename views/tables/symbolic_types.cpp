#include "views/tables/symbolic_types.h"

#include <charconv>

namespace vitrine::views {

using namespace session;

namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

// A text as its numbers that stand alone and what is between them: "f32[4,128]" is {"f32[", 4, ",", 128,
// "]"}.
struct Part {
  std::string words;   // before the number
  int64_t number = 0;  // -1: the end, no number follows
};
std::vector<Part> parts_of(const std::string& text) {
  std::vector<Part> out;
  std::string words;
  for (size_t i = 0; i < text.size();) {
    const bool begins = digit(text[i]) && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])));
    if (!begins) {
      words += text[i++];
      continue;
    }
    int64_t number = 0;
    const char* end = std::from_chars(text.data() + i, text.data() + text.size(), number).ptr;
    i = static_cast<size_t>(end - text.data());
    out.push_back({words, number});
    words.clear();
  }
  out.push_back({words, -1});
  return out;
}

// The number behind "changed: it was ".
int64_t was(const std::string& origin) {
  const size_t at = origin.find("it was ");
  int64_t out = 0;
  if (at != std::string::npos) std::from_chars(origin.data() + at + 7, origin.data() + origin.size(), out);
  return out;
}

}  // namespace

SymbolicTypes::SymbolicTypes(const kit::SessionData& data, Id before, Id after) {
  std::unordered_map<std::string, int64_t> old;
  for (const SymbolRow& row : data.symbols.of(before)) old[row.source] = row.hint;
  for (const SymbolRow& row : data.symbols.of(after)) {
    auto it = old.find(row.source);
    symbols_.push_back({row.name, row.source, it == old.end() ? was(row.origin) : it->second, row.hint});
  }
}

// "s0" for 128 -> 96 where s0 went from 128 to 96, "4*s0" for 512 -> 384. Nothing when two symbols explain
// it.
std::optional<std::string> SymbolicTypes::explain(int64_t before, int64_t now) const {
  std::optional<std::string> out;
  if (before == now) return out;
  for (const Symbol& s : symbols_) {
    if (s.before <= 0 || s.now <= 0 || s.before == s.now || now % s.now || before % s.before) continue;
    const int64_t times = now / s.now;
    if (times < 1 || before / s.before != times) continue;
    if (out) return std::nullopt;
    out = times == 1 ? s.name : std::to_string(times) + "*" + s.name;
  }
  return out;
}

std::string SymbolicTypes::text(const std::string& before, const std::string& now) const {
  const std::vector<Part> a = parts_of(before), b = parts_of(now);
  if (a.size() != b.size()) return now;
  std::string out;
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i].words != b[i].words) return now;
    out += b[i].words;
    if (b[i].number < 0) continue;
    const auto symbol = explain(a[i].number, b[i].number);
    out += symbol ? *symbol : std::to_string(b[i].number);
  }
  return out;
}

std::string SymbolicTypes::input(const std::string& source, const std::string& now) const {
  std::string out;
  int dim = 0;
  for (const Part& part : parts_of(now)) {
    out += part.words;
    if (part.number < 0) continue;
    const std::string size = source + ".size(" + std::to_string(dim++) + ")";
    std::string word = std::to_string(part.number);
    for (const Symbol& s : symbols_)
      if (s.source == size && s.now == part.number) word = s.name;
    out += word;
  }
  return out;
}

}  // namespace vitrine::views
