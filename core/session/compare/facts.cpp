// Settings, environment, memory and outputs.
#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "core/session/compare/parts.h"

namespace vitrine::session {

namespace {

using What = SessionChange::What;
using Sign = SessionChange::Sign;

// known: what one side does not tell of itself is no difference.
void compare_values(What what, const std::map<std::string, std::string>& before,
                    const std::map<std::string, std::string>& after, bool known, Changes& out) {
  std::set<std::string> keys;
  for (const auto& [key, value] : before) keys.insert(key);
  for (const auto& [key, value] : after) keys.insert(key);
  auto of = [](const auto& map, const std::string& key) {
    const auto at = map.find(key);
    return at == map.end() ? std::string() : at->second;
  };
  for (const std::string& key : keys)
    if (const std::string a = of(before, key), b = of(after, key);
        a != b && !(known && (a.empty() || b.empty())))
      out.push_back({what, Sign::Changed, "", key, a, b, "", 0});
}

std::string bytes_text(int64_t n) {
  if (n < 1000) return std::to_string(n) + " B";
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  double value = static_cast<double>(n) / 1000;
  size_t unit = 0;
  for (; unit < 3 && value >= 999.5; ++unit) value /= 1000;
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.*f %s",
                value >= 99.95   ? 0
                : value >= 9.995 ? 1
                                 : 2,
                value, kUnits[unit]);
  return out.data();
}

void compare_bytes(const char* text, int64_t before, int64_t after, Changes& out) {
  if (before != after)
    out.push_back({What::Memory, Sign::Changed, "", text, bytes_text(before), bytes_text(after), "", 0});
}

void compare_outputs(const ComparedSession& before, const ComparedSession& after, Changes& out) {
  for (const auto& [name, b] : after.outputs) {
    const auto at = before.outputs.find(name);
    if (at == before.outputs.end()) continue;
    const ComparedOutput& a = at->second;
    if (a.verdict != b.verdict)
      out.push_back({What::Output, Sign::Changed, "", name, a.verdict, b.verdict, b.message, 0});
  }
}

}  // namespace

void compare_facts(const ComparedSession& before, const ComparedSession& after, Changes& out) {
  const bool known = before.imported || after.imported;
  // What another compiler was asked for is not told in our words.
  if (before.imported == after.imported)
    compare_values(What::Setting, before.settings, after.settings, known, out);
  compare_values(What::Environment, before.environment, after.environment, known, out);
  int64_t temporaries[2] = {}, saved[2] = {};
  for (const ComparedSession* s : {&before, &after})
    for (const ComparedProgram& p : s->programs) {
      temporaries[s == &after] = std::max(temporaries[s == &after], p.temporary_bytes);
      saved[s == &after] += p.saved_bytes;
    }
  compare_bytes("temporaries at their peak", temporaries[0], temporaries[1], out);
  compare_bytes("kept for backward", saved[0], saved[1], out);
  compare_outputs(before, after, out);
}

}  // namespace vitrine::session
