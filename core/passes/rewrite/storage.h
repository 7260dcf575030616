// Which values of a graph may share memory, which memory is written, and what leaves the graph: what a pass
// must know before it merges, drops or moves anything. Conservative: an unknown operator may return views of
// all its arguments.
#pragma once

#include <span>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::passes {

class Storages {
 public:
  explicit Storages(const ir::Graph& graph);
  // Values of one group may share memory. A node has one group for all its outputs.
  int group(ir::NodeId node) const { return find(group_.at(static_cast<size_t>(node))); }
  bool written(ir::NodeId node) const { return flags_[at(node)].written; }  // somewhere in the graph
  bool escapes(ir::NodeId node) const { return flags_[at(node)].escapes; }  // a result shares its memory
  bool is_input(ir::NodeId node) const { return flags_[at(node)].input; }   // an input shares its memory
  std::span<const ir::NodeId> members(ir::NodeId node) const {              // in the graph's order
    const Flags& flags = flags_[at(node)];
    return std::span(members_).subspan(flags.first, flags.count);
  }

 private:
  struct Flags {
    bool written = false, escapes = false, input = false;
    size_t first = 0, count = 0;  // in members_
  };
  int find(int i) const {
    while (parent_[static_cast<size_t>(i)] != i) i = parent_[static_cast<size_t>(i)];
    return i;
  }
  void list_members(const ir::Graph& graph);
  size_t at(ir::NodeId node) const { return static_cast<size_t>(group(node)); }

  std::vector<int> group_;  // by NodeId
  std::vector<int> parent_;
  std::vector<Flags> flags_;
  std::vector<ir::NodeId> members_;  // of one group after the other
};

}  // namespace vitrine::passes
