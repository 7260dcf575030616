#include "views/kit/sources.h"

#include <string_view>

#include "core/session/source_text.h"
#include "views/kit/session_data.h"

namespace vitrine::kit {

namespace {

constexpr std::string_view kModules = ".__dict__['_modules']['";

}  // namespace

QString sourceText(const std::string& recorded) {
  return QString::fromStdString(session::source_text(recorded));
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
