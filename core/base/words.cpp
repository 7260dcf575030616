#include "core/base/words.h"

#include <cctype>
#include <string_view>

namespace vitrine {

namespace {

bool digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool begins_with_vowel(const std::string& noun) {
  std::string low = noun.substr(0, 4);
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const char first = low.empty() ? ' ' : low[0];
  if (low.size() > 1 && digit(low[1]))
    return first == 'f' || first == 'i' || first == '8';  // "f32", "i64", "u8", "80"
  for (const std::string_view spoken_yu : {"uni", "use", "usa", "usu", "uti", "eu", "one"})
    if (low.starts_with(spoken_yu) && !low.starts_with("unin")) return false;
  return first == '8' || std::string_view("aeiou").find(first) != std::string_view::npos;
}

}  // namespace

std::string with_article(const std::string& noun) {
  return (begins_with_vowel(noun) ? "an " : "a ") + noun;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace vitrine
