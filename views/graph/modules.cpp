#include "views/graph/modules.h"

#include <algorithm>
#include <map>

namespace vitrine::views {

namespace {

constexpr size_t kFewItems = 16;   // below this a picture says too little
constexpr size_t kManyItems = 48;  // above this it no longer fits at a readable zoom

struct Count {
  size_t visible = 0;                    // nodes and cards
  std::map<std::string, size_t> closed;  // card -> nodes in it
};

Count count(const std::vector<std::string>& paths, const std::set<std::string>& open) {
  Count out;
  for (const std::string& path : paths) {
    std::string card = first_closed(path, open);
    if (card.empty())
      ++out.visible;
    else
      ++out.closed[card];
  }
  out.visible += out.closed.size();
  return out;
}

}  // namespace

std::vector<std::string> prefixes(const std::string& path) {
  std::vector<std::string> out;
  if (path.empty()) return out;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
    out.push_back(path.substr(0, dot));
  out.push_back(path);
  return out;
}

std::string first_closed(const std::string& path, const std::set<std::string>& open) {
  for (const std::string& prefix : prefixes(path)) {
    if (!open.contains(prefix)) return prefix;
  }
  return "";
}

std::set<std::string> single_modules(const std::vector<std::string>& paths) {
  std::map<std::string, size_t> nodes;
  for (const std::string& path : paths)
    for (const std::string& prefix : prefixes(path)) ++nodes[prefix];
  std::set<std::string> out;
  for (const auto& [path, n] : nodes)
    if (n == 1) out.insert(path);
  return out;
}

std::set<std::string> open_modules(const std::vector<std::string>& paths, const std::set<std::string>& opened,
                                   const std::set<std::string>& closed) {
  std::set<std::string> open = single_modules(paths);
  for (const std::string& path : opened) {
    for (const std::string& prefix : prefixes(path)) open.insert(prefix);
  }
  for (const std::string& path : closed) open.erase(path);
  for (;;) {
    Count now = count(paths, open);
    if (now.visible >= kFewItems) return open;
    auto candidate = now.closed.end();
    for (auto it = now.closed.begin(); it != now.closed.end(); ++it) {
      if (!closed.contains(it->first) && (candidate == now.closed.end() || it->second > candidate->second))
        candidate = it;
    }
    if (candidate == now.closed.end()) return open;
    std::set<std::string> more = open;
    more.insert(candidate->first);
    if (count(paths, more).visible > kManyItems) return open;
    open = std::move(more);
  }
}

}  // namespace vitrine::views
