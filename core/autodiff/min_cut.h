// Minimum cut between a source and a sink (Dinic's algorithm).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vitrine::autodiff {

class MinCut {
 public:
  static constexpr int64_t kInfinite = INT64_MAX / 4;

  int add();  // a new vertex
  void edge(int from, int to, int64_t capacity);
  // The vertices on the sink's side of the minimum cut that lies nearest to the sink. Throws InternalError
  // when every cut is infinite.
  std::vector<bool> sink_side(int source, int sink);
  int64_t flow() const { return flow_; }  // the cut's capacity

 private:
  struct Edge {
    int to;
    int64_t left;
  };
  bool find_levels(int source, int sink);
  int64_t push(int vertex, int sink, int64_t most);

  std::vector<Edge> edges_;  // the edge behind edge i is i ^ 1
  std::vector<std::vector<int>> of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
  int64_t flow_ = 0;
};

}  // namespace vitrine::autodiff
