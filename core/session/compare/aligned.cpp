#include "core/session/compare/aligned.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace vitrine::session {

namespace {

constexpr size_t kMostSteps = 4'000'000;  // of the table of types in common; larger ones go by their order

using NodePlaces = std::vector<size_t>;
using Matches = std::vector<std::pair<size_t, size_t>>;  // positions among those of one kind

std::map<std::string, NodePlaces> by_kind(const std::vector<KeyedNode>& nodes) {
  std::map<std::string, NodePlaces> out;
  for (size_t i = 0; i < nodes.size(); ++i) out[nodes[i].what].push_back(i);
  return out;
}

// The longest sequence of types that both have in that order.
template <class Same>
Matches longest_common(size_t n, size_t m, Same same) {
  std::vector<std::vector<uint32_t>> length(n + 1, std::vector<uint32_t>(m + 1));
  for (size_t i = n; i-- > 0;)
    for (size_t j = m; j-- > 0;)
      length[i][j] = same(i, j) ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
  Matches out;
  for (size_t i = 0, j = 0; i < n && j < m;) {
    if (same(i, j))
      out.emplace_back(i++, j++);
    else if (length[i + 1][j] >= length[i][j + 1])
      ++i;
    else
      ++j;
  }
  return out;
}

template <class Same>
Matches matched(size_t n, size_t m, Same same) {
  Matches out;
  if (n * m <= kMostSteps) out = longest_common(n, m, same);
  if (out.empty()) {
    for (size_t i = 0; i < std::min(n, m); ++i) out.emplace_back(i, i);
    return out;
  }
  // Between two that are the same, as many on either side are what changed its type.
  Matches gaps;
  size_t i = 0, j = 0;
  auto fill = [&](size_t to_i, size_t to_j) {
    if (to_i - i == to_j - j)
      while (i < to_i) gaps.emplace_back(i++, j++);
    i = to_i + 1, j = to_j + 1;
  };
  for (const auto& [a, b] : out) fill(a, b);
  fill(n, m);
  out.insert(out.end(), gaps.begin(), gaps.end());
  return out;
}

}  // namespace

AlignedKeys aligned_keys(const std::vector<KeyedNode>& before, const std::vector<KeyedNode>& after) {
  AlignedKeys out;
  out.before.resize(before.size()), out.after.resize(after.size());
  const auto some = by_kind(before), others = by_kind(after);
  auto key = [](const std::string& what, size_t n) { return what + " #" + std::to_string(n); };
  for (const auto& [what, places] : some)
    for (size_t i = 0; i < places.size(); ++i) out.before[places[i]] = key(what, i);
  for (const auto& [what, places] : others) {
    const auto there = some.find(what);
    const size_t n = there == some.end() ? 0 : there->second.size();
    if (n)
      for (const auto& [i, j] : matched(n, places.size(), [&](size_t a, size_t b) {
             return before[there->second[a]].type == after[places[b]].type;
           }))
        out.after[places[j]] = key(what, i);
    size_t next = n;
    for (const size_t place : places)
      if (out.after[place].empty()) out.after[place] = key(what, next++);
  }
  return out;
}

ComparedProgram aligned_to(const ComparedProgram& before, const ComparedProgram& after) {
  auto keyed = [](const ComparedProgram& p) {
    std::vector<KeyedNode> out;
    for (const ComparedNode& node : p.nodes)
      out.push_back({node.key.substr(0, node.key.rfind(" #")), node.type});
    return out;
  };
  const AlignedKeys keys = aligned_keys(keyed(before), keyed(after));
  ComparedProgram out = after;
  std::unordered_map<std::string, std::string> renamed;
  for (size_t i = 0; i < out.nodes.size(); ++i)
    out.nodes[i].key = renamed[after.nodes[i].key] = keys.after[i];
  auto name = [&](const std::string& key) {
    const auto at = renamed.find(key);
    return at == renamed.end() ? key : at->second;
  };
  for (ComparedKernel& kernel : out.kernels) {
    std::set<std::string> nodes;
    for (const std::string& key : kernel.nodes) nodes.insert(name(key));
    kernel.nodes = std::move(nodes);
  }
  out.rejected.clear();
  for (const auto& [pair, why] : after.rejected)
    out.rejected[std::minmax(name(pair.first), name(pair.second))] = why;
  return out;
}

}  // namespace vitrine::session
