// Finds the nodes of a list by id while the list grows at its end and is cut there. Each node is looked at
// once: a search through the list for every question would cost the square of a program's length.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/ir/graph.h"
#include "core/ops/node.h"

namespace vitrine::torch_api {

class NodeIndex {
 public:
  // The list has lost all behind the first `size` nodes.
  void cut(size_t size) {
    if (seen_ > size) seen_ = size;
  }
  // Its position in `nodes`, which is the same list in every call; -1: it is not there.
  int64_t find(const std::vector<ir::Node>& nodes, ir::NodeId id) {
    for (; seen_ < nodes.size(); ++seen_) places_[nodes[seen_].id] = seen_;
    const auto found = places_.find(id);
    if (found == places_.end() || found->second >= nodes.size()) return -1;
    return nodes[found->second].id == id ? static_cast<int64_t>(found->second) : -1;
  }

 private:
  std::unordered_map<ir::NodeId, size_t> places_;  // of nodes that are cut off, too
  size_t seen_ = 0;
};

// Which memory the nodes of such a list write to, by the node that made it.
class WrittenRoots {
 public:
  void cut(size_t size) {
    while (!writes_.empty() && writes_.back().first >= size) {
      if (--times_[writes_.back().second] == 0) times_.erase(writes_.back().second);
      writes_.pop_back();
    }
    if (seen_ > size) seen_ = size;
  }
  // roots_of(node, f) calls f with the root of each memory that the node may write to.
  template <class RootsOf>
  void follow(const std::vector<ir::Node>& nodes, RootsOf&& roots_of) {
    for (; seen_ < nodes.size(); ++seen_)
      roots_of(nodes[seen_], [&](ir::NodeId root) {
        writes_.emplace_back(seen_, root);
        ++times_[root];
      });
  }
  bool contains(ir::NodeId root) const { return times_.contains(root); }

 private:
  std::vector<std::pair<size_t, ir::NodeId>> writes_;  // by position of the node
  std::unordered_map<ir::NodeId, size_t> times_;
  size_t seen_ = 0;
};

// Which memory of theirs is written to, where all that an operator may return of its arguments' memory counts
// as one.
class WrittenMemory {
 public:
  void cut(size_t size) {
    if (seen_ > size) *this = {};
  }
  bool contains(const std::vector<ir::Node>& nodes, ir::NodeId id) {
    for (; seen_ < nodes.size(); ++seen_) {
      const ir::Node& n = nodes[seen_];
      for (ir::Ref r : ops::aliased(n)) join(n.id, r.node);
      for (ir::Ref r : ops::written(n)) written_.insert(root(r.node));
    }
    return written_.contains(root(id));
  }

 private:
  ir::NodeId root(ir::NodeId id) const {
    for (auto it = parent_.find(id); it != parent_.end(); it = parent_.find(id)) id = it->second;
    return id;
  }
  void join(ir::NodeId a, ir::NodeId b) {
    a = root(a), b = root(b);
    if (a == b) return;
    parent_[a] = b;
    if (written_.contains(a)) written_.insert(b);
  }

  std::unordered_map<ir::NodeId, ir::NodeId> parent_;
  std::unordered_set<ir::NodeId> written_;  // roots
  size_t seen_ = 0;
};

// How many places operators have found in masks, by the tensor whose truth values they have looked through.
class FoundPlaces {
 public:
  void cut(size_t size) {
    while (!in_order_.empty() && in_order_.back().first >= size) {
      places_.erase(in_order_.back().second);
      in_order_.pop_back();
    }
  }
  // The node that comes behind the first `size` nodes has looked.
  void note(size_t size, ir::Ref mask, int64_t count) {
    if (places_.emplace(mask, count).second) in_order_.emplace_back(size, mask);
  }
  // 0: nobody has looked.
  int64_t count(ir::Ref mask) const {
    const auto found = places_.find(mask);
    return found == places_.end() ? 0 : found->second;
  }

 private:
  std::map<ir::Ref, int64_t> places_;
  std::vector<std::pair<size_t, ir::Ref>> in_order_;
};

}  // namespace vitrine::torch_api
