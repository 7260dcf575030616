#include "core/autodiff/min_cut.h"

#include <algorithm>

#include "core/base/result.h"

namespace vitrine::autodiff {

int MinCut::add() {
  of_.emplace_back();
  return static_cast<int>(of_.size()) - 1;
}

void MinCut::edge(int from, int to, int64_t capacity) {
  of_[static_cast<size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  of_[static_cast<size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::find_levels(int source, int sink) {
  level_.assign(of_.size(), -1);
  level_[static_cast<size_t>(source)] = 0;
  std::vector<int> queue{source};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (int e : of_[static_cast<size_t>(queue[i])]) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      if (edge.left <= 0 || level_[static_cast<size_t>(edge.to)] >= 0) continue;
      level_[static_cast<size_t>(edge.to)] = level_[static_cast<size_t>(queue[i])] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[static_cast<size_t>(sink)] >= 0;
}

int64_t MinCut::push(int vertex, int sink, int64_t most) {
  if (vertex == sink) return most;
  const auto v = static_cast<size_t>(vertex);
  for (; next_[v] < of_[v].size(); ++next_[v]) {
    const auto e = static_cast<size_t>(of_[v][next_[v]]);
    const int to = edges_[e].to;
    if (edges_[e].left <= 0 || level_[static_cast<size_t>(to)] != level_[v] + 1) continue;
    const int64_t pushed = push(to, sink, std::min(most, edges_[e].left));
    if (!pushed) continue;
    edges_[e].left -= pushed;
    edges_[e ^ 1].left += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> MinCut::sink_side(int source, int sink) {
  while (find_levels(source, sink)) {
    next_.assign(of_.size(), 0);
    while (int64_t pushed = push(source, sink, kInfinite)) {
      flow_ += pushed;
      VITRINE_CHECK(flow_ < kInfinite, "a joint graph cannot be divided");
    }
  }
  // Whatever can still reach the sink: found against the edges' direction.
  std::vector<bool> reaches(of_.size());
  reaches[static_cast<size_t>(sink)] = true;
  std::vector<int> queue{sink};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (int e : of_[static_cast<size_t>(queue[i])]) {
      const int from = edges_[static_cast<size_t>(e)].to;
      if (edges_[static_cast<size_t>(e) ^ 1].left <= 0 || reaches[static_cast<size_t>(from)]) continue;
      reaches[static_cast<size_t>(from)] = true;
      queue.push_back(from);
    }
  }
  return reaches;
}

}  // namespace vitrine::autodiff
