// Provenance both ways in two flat arrays: the session's links, and those that its rows imply (expression ->
// instruction -> step -> node -> kernel lines -> kernel -> launch).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
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
    std::vector<Id> from;         // ascending
    std::vector<uint32_t> begin;  // in `to`, of each of them, and the end
    std::vector<Id> to;
  };
  static Side side(std::vector<std::pair<Id, Id>>& links);
  static std::span<const Id> of(const Side& side, Id id) {
    const auto at = std::lower_bound(side.from.begin(), side.from.end(), id);
    if (at == side.from.end() || *at != id) return {};
    const auto i = static_cast<size_t>(at - side.from.begin());
    return {side.to.data() + side.begin[i], side.begin[i + 1] - side.begin[i]};
  }
  Side forward_, backward_;
};

}  // namespace vitrine::kit
