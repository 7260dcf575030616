// Which values of a graph may share memory, which memory is written, and what leaves the graph: what a pass
// must know before it merges, drops or moves anything. Conservative: an unknown operator may return views of
// all its arguments.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::passes {

class Storages {
 public:
  explicit Storages(const ir::Graph& graph);
  // Values of one group may share memory. A node has one group for all its outputs.
  int group(ir::NodeId node) const { return find(group_.at(node)); }
  bool written(ir::NodeId node) const { return flags_[at(node)].written; }  // somewhere in the graph
  bool escapes(ir::NodeId node) const { return flags_[at(node)].escapes; }  // a result shares its memory
  bool is_input(ir::NodeId node) const { return flags_[at(node)].input; }   // an input shares its memory
  const std::vector<ir::NodeId>& members(ir::NodeId node) const { return flags_[at(node)].members; }

 private:
  struct Flags {
    bool written = false, escapes = false, input = false;
    std::vector<ir::NodeId> members;
  };
  int find(int i) const {
    while (parent_[static_cast<size_t>(i)] != i) i = parent_[static_cast<size_t>(i)];
    return i;
  }
  size_t at(ir::NodeId node) const { return static_cast<size_t>(group(node)); }

  std::unordered_map<ir::NodeId, int> group_;
  std::vector<int> parent_;
  std::vector<Flags> flags_;
};

}  // namespace vitrine::passes
