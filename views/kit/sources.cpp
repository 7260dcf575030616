#include "views/kit/sources.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "views/kit/session_data.h"

namespace vitrine::kit {

namespace {

constexpr std::string_view kDict = ".__dict__['", kModules = ".__dict__['_modules']['";
constexpr std::string_view kContainers[] = {"_modules']['", "_parameters']['", "_buffers']['"};

bool isName(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c >= 0x80; });
}

}  // namespace

QString sourceText(const std::string& recorded) {
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
    if (end == std::string_view::npos) return QString::fromStdString(recorded);
    const std::string name(key.substr(0, end));
    out += isName(name)                                                ? "." + name
           : name.find_first_not_of("0123456789") == std::string::npos ? "[" + name + "]"
                                                                       : "['" + name + "']";
    rest = key.substr(end + 2);
  }
  return QString::fromStdString(out);
}

std::string modulePart(const std::string& recorded) {
  const size_t last = recorded.rfind(kModules);
  if (last == std::string::npos) return recorded;
  const size_t end = recorded.find("']", last + kModules.size());
  return end == std::string::npos ? recorded : recorded.substr(0, end + 2);
}

std::map<std::string, QString> moduleClasses(const SessionData& data, Id compilation) {
  std::map<std::string, QString> out;
  for (const session::GuardRow& guard : data.guards.of(compilation)) {
    if (guard.kind != "type" || guard.expected.size() < 3 || modulePart(guard.source) != guard.source)
      continue;
    std::string path;
    for (size_t at = guard.source.find(kModules); at != std::string::npos;) {
      const size_t from = at + kModules.size(), end = guard.source.find("']", from);
      if (end == std::string::npos) break;
      path += (path.empty() ? "" : ".") + guard.source.substr(from, end - from);
      at = guard.source.find(kModules, end);
    }
    if (!path.empty()) out.try_emplace(path, QString::fromStdString(guard.expected).section(' ', 1));
  }
  return out;
}

}  // namespace vitrine::kit
