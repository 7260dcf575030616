#include "views/graph/modules.h"

#include <algorithm>
#include <functional>

namespace vitrine::views {

namespace {

constexpr size_t kFewItems = 8;     // below this a picture says too little
constexpr size_t kSmallGraph = 20;  // of which everything is seen
constexpr size_t kManyItems = 48;   // above this it no longer fits at a readable zoom
constexpr size_t kManyInLine = 96;  // below each other a picture can be longer
constexpr size_t kLeastRun = 3;     // equal layers

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}
std::string parent_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}
bool is_numbered(const std::string& path) {
  const std::string last = last_part(path);
  return !last.empty() && last.find_first_not_of("0123456789") == std::string::npos;
}

// What each module does, as a number: equal for modules whose nodes do the same in the same order.
std::map<std::string, size_t> signatures(const std::vector<ModuleNode>& nodes) {
  std::map<std::string, size_t> out;
  for (const ModuleNode& node : nodes)
    for (const std::string& prefix : prefixes(node.module)) {
      size_t& sum = out[prefix];
      sum = sum * 1000003 + node.work + std::hash<std::string>()(node.module.substr(prefix.size())) * 31;
    }
  return out;
}

struct Count {
  size_t visible = 0;                    // nodes and cards, a run of equal ones as one
  std::map<std::string, size_t> closed;  // card -> nodes in it
};

Count count(const std::vector<ModuleNode>& nodes, const std::set<std::string>& open,
            const std::map<std::string, std::string>& runs) {
  Count out;
  for (const ModuleNode& node : nodes) {
    std::string card = first_closed(node.module, open);
    if (auto run = runs.find(card); run != runs.end()) card = run->second;
    if (card.empty())
      ++out.visible;
    else
      ++out.closed[card];
  }
  out.visible += out.closed.size();
  return out;
}

std::map<std::string, std::string> runs_of(const std::vector<ModuleNode>& nodes,
                                           const std::map<std::string, size_t>& works,
                                           const std::set<std::string>& open,
                                           const std::set<std::string>& opened) {
  std::vector<std::string> order;  // cards, and "" for what stands between them
  std::set<std::string> seen;
  for (const ModuleNode& node : nodes) {
    const std::string card = first_closed(node.module, open);
    if (card.empty() ? !order.empty() && !order.back().empty() : seen.insert(card).second)
      order.push_back(card);
  }
  std::map<std::string, std::string> out;
  for (size_t from = 0; from < order.size();) {
    size_t to = from + 1;
    const std::string& first = order[from];
    auto equal = [&](const std::string& other) {
      return is_numbered(other) && parent_of(other) == parent_of(first) && works.at(other) == works.at(first);
    };
    if (!first.empty() && is_numbered(first))
      while (to < order.size() && !order[to].empty() && equal(order[to])) ++to;
    const bool split = std::any_of(opened.begin(), opened.end(), [&](const std::string& path) {
      return path.ends_with(kRunMark) && parent_of(path) == parent_of(first);
    });
    if (to - from >= kLeastRun && !split)
      for (size_t i = from; i < to; ++i) out[order[i]] = first;
    from = to;
  }
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

std::vector<std::string> interrupted_lists(const std::vector<ModuleNode>& nodes) {
  struct List {
    size_t runs = 0;  // of its nodes that follow each other
    std::set<std::string> children;
    bool own = false;  // has work of its own
  };
  std::map<std::string, List> lists;
  std::set<std::string> before;
  for (const ModuleNode& node : nodes) {
    std::set<std::string> here;
    for (const std::string& path : prefixes(node.module))
      if (is_numbered(path) && !parent_of(path).empty()) {
        List& list = lists[parent_of(path)];
        list.runs += !before.contains(parent_of(path));
        list.children.insert(path);
        here.insert(parent_of(path));
      }
    for (const std::string& path : prefixes(node.module))
      if (!here.contains(path)) lists[path].own = true;
    before = std::move(here);
  }
  std::vector<std::string> out;
  for (const auto& [path, list] : lists)
    if (!list.own && list.runs > 1 && list.runs >= list.children.size()) out.push_back(path);
  return out;
}

std::set<std::string> single_modules(const std::vector<ModuleNode>& nodes) {
  std::map<std::string, size_t> held;
  for (const ModuleNode& node : nodes)
    for (const std::string& prefix : prefixes(node.module)) ++held[prefix];
  std::set<std::string> out;
  for (const auto& [path, n] : held)
    if (n == 1) out.insert(path);
  return out;
}

std::map<std::string, std::string> equal_runs(const std::vector<ModuleNode>& nodes,
                                              const std::set<std::string>& open,
                                              const std::set<std::string>& opened) {
  return runs_of(nodes, signatures(nodes), open, opened);
}

std::set<std::string> open_modules(const std::vector<ModuleNode>& nodes, const std::set<std::string>& opened,
                                   const std::set<std::string>& closed) {
  const std::map<std::string, size_t> works = signatures(nodes);
  std::set<std::string> open = single_modules(nodes);
  for (const std::string& path : opened) {
    for (const std::string& prefix : prefixes(path)) open.insert(prefix);
  }
  for (const std::string& path : interrupted_lists(nodes)) {
    std::set<std::string> more = open;
    for (const std::string& prefix : prefixes(path)) more.insert(prefix);
    if (count(nodes, more, runs_of(nodes, works, more, opened)).visible <= kManyInLine)
      open = std::move(more);
  }
  for (const std::string& path : closed) open.erase(path);
  // An equal layer that is open already shows what this one holds.
  auto told = [&](const std::string& card) {
    return is_numbered(card) && std::any_of(open.begin(), open.end(), [&](const std::string& other) {
             const auto work = works.find(other);
             return other != card && is_numbered(other) && parent_of(other) == parent_of(card) &&
                    work != works.end() && work->second == works.at(card);
           });
  };
  for (;;) {
    Count now = count(nodes, open, runs_of(nodes, works, open, opened));
    if (now.visible >= kFewItems && nodes.size() > kSmallGraph) return open;
    auto candidate = now.closed.end();
    for (auto it = now.closed.begin(); it != now.closed.end(); ++it) {
      if (!closed.contains(it->first) && !told(it->first) &&
          (candidate == now.closed.end() || it->second > candidate->second))
        candidate = it;
    }
    if (candidate == now.closed.end()) return open;
    std::set<std::string> more = open;
    more.insert(candidate->first);
    if (count(nodes, more, runs_of(nodes, works, more, opened)).visible > kManyItems) return open;
    open = std::move(more);
  }
}

}  // namespace vitrine::views
