// What the active thing came from and became: the transitive closure of the links, both ways, split into what
// belongs to it alone (drawn with the ring) and what it shares with others (drawn with the selected outline).
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "views/kit/painting/paint.h"
#include "views/kit/session/session_data.h"

namespace vitrine::kit {

struct Relatives {
  Id of = 0;
  std::vector<Id> origins;  // nearest first
  std::vector<Id> derived;  // nearest first
  std::unordered_set<Id> only, shared;

  bool contains(Id id) const { return only.contains(id) || shared.contains(id); }
};
using RelativesPtr = std::shared_ptr<const Relatives>;

// Visits each link at most twice; call from a job for large sessions. A fusion decision stands for its pair.
Relatives relativesOf(const SessionData& data, Id id);

}  // namespace vitrine::kit
