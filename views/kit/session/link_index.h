// Provenance both ways in two flat arrays: the session's links, and those that its rows imply (expression ->
// instruction -> step -> node -> kernel lines -> kernel -> launch).
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/ids.h"

namespace vitrine::kit {

class LinkIndex {
 public:
  LinkIndex() = default;
  // Pairs (origin, derived), in any order, repeats allowed.
  explicit LinkIndex(std::vector<std::pair<Id, Id>> links);

  std::span<const Id> derived(Id id) const { return of(forward_, id); }
  std::span<const Id> origins(Id id) const { return of(backward_, id); }
  size_t size() const { return forward_.to.size(); }

 private:
  struct Side {
    std::unordered_map<Id, std::pair<uint32_t, uint32_t>> range;
    std::vector<Id> to;
  };
  static Side side(std::vector<std::pair<Id, Id>>& links);
  static std::span<const Id> of(const Side& side, Id id) {
    auto it = side.range.find(id);
    if (it == side.range.end()) return {};
    return {side.to.data() + it->second.first, it->second.second};
  }
  Side forward_, backward_;
};

}  // namespace vitrine::kit
