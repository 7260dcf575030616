#include "core/base/shown_type.h"

#include <algorithm>
#include <map>

namespace vitrine {

namespace {

// Calls f(type, device) for each type of a list; commas in brackets are the shape's.
template <class F>
void each_type(std::string_view recorded, F f) {
  size_t from = 0;
  int depth = 0;
  for (size_t i = 0; i <= recorded.size(); ++i) {
    const char c = i < recorded.size() ? recorded[i] : ',';
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c != ',' || depth > 0) continue;
    while (from < i && recorded[from] == ' ') ++from;
    const std::string one(recorded.substr(from, i - from));
    const size_t end = one.find_last_of("]}");
    if (end == std::string::npos)
      f(one, std::string("-"));  // no tensor
    else
      f(one.substr(0, end + 1), one.substr(end + 1));
    from = i + 1;
  }
}

}  // namespace

std::string device_of(const std::vector<std::string_view>& types) {
  std::map<std::string, int> seen;
  for (const std::string_view type : types)
    each_type(type, [&](const std::string&, const std::string& device) {
      if (device != "-") ++seen[device];
    });
  const auto most =
      std::max_element(seen.begin(), seen.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return most == seen.end() ? std::string() : most->first;
}

std::string type_for(const std::string& recorded, const std::string& device) {
  if (device.empty()) return recorded;
  std::string out;
  each_type(recorded, [&](const std::string& type, const std::string& on) {
    out += (out.empty() ? "" : ", ") + type;
    if (on != "-" && on != device) out += on.empty() ? " cpu" : " " + on;
  });
  return out;
}

}  // namespace vitrine
