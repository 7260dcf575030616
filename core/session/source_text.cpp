#include "core/session/source_text.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace vitrine::session {

namespace {

constexpr std::string_view kDict = ".__dict__['";
constexpr std::string_view kContainers[] = {"_modules']['", "_parameters']['", "_buffers']['"};

bool is_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c >= 0x80; });
}

}  // namespace

std::string source_text(const std::string& recorded) {
  std::string out;
  std::string_view rest = recorded;
  while (!rest.empty()) {
    if (!rest.starts_with(kDict)) {
      out += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    std::string_view key = rest.substr(kDict.size());
    for (std::string_view container : kContainers)
      if (key.starts_with(container)) {
        key.remove_prefix(container.size());
        break;
      }
    const size_t end = key.find("']");
    if (end == std::string_view::npos) return recorded;
    const std::string name(key.substr(0, end));
    out += is_name(name)                                               ? "." + name
           : name.find_first_not_of("0123456789") == std::string::npos ? "[" + name + "]"
                                                                       : "['" + name + "']";
    rest = key.substr(end + 2);
  }
  return out;
}

}  // namespace vitrine::session
