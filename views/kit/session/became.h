// What became what: the operators of an ATen graph and the launches that do their work, in groups. An
// operator belongs to the one launch of those that descend from it that does most of the work; a launch that
// no operator belongs to (what a composite operator is written out to) joins the group of an operator that it
// descends from.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "views/kit/session/session_data.h"

namespace vitrine::kit {

struct BecameGroup {
  std::vector<Id> nodes, launches;  // in the order of graph and plan
};

class Became {
 public:
  // Of one compilation, or of all of a run's. ran: the launches that count, where not all of a plan ran (a
  // call of a library may do the next kernel's work); null: all.
  static Became of(const SessionData& data, const std::vector<Id>& compilations,
                   const std::unordered_set<Id>* ran = nullptr);

  const std::vector<BecameGroup>& groups() const { return groups_; }
  // The group's first launch stands for it; 0: the operator became none, the launch is not known.
  Id launchOf(Id node) const;
  Id firstOf(Id launch) const;
  const BecameGroup* groupOf(Id launch) const;  // nullptr: not known

 private:
  void add(const SessionData& data, Id compilation, const std::unordered_set<Id>* ran);
  std::vector<BecameGroup> groups_;
  std::unordered_map<Id, size_t> by_node_, by_launch_;
};

// "addmm" of the node addmm_3: what stands for all operators of its kind.
QString operatorName(const session::NodeRow& node);

}  // namespace vitrine::kit
