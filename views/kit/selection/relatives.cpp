#include "views/kit/selection/relatives.h"

#include <algorithm>

namespace vitrine::kit {

namespace {

using LinkStep = std::span<const Id> (LinkIndex::*)(Id) const;

// Decisions are leaves: they tell of a pair, they do not carry provenance on.
bool carriesOn(Id id) {
  return kind_of(id) != Kind::Decision;
}

// Whether `id`, which came from an origin, says that the origin belongs to others too. What leads nowhere
// does not: a guard, a verdict, an instruction that only prepares a call.
bool claims(const LinkIndex& links, Id id) {
  const Kind kind = kind_of(id);
  if (kind == Kind::Decision || kind == Kind::Guard) return false;
  return kind != Kind::Instruction || std::any_of(links.derived(id).begin(), links.derived(id).end(),
                                                  [](Id next) { return kind_of(next) != Kind::Guard; });
}

std::vector<Id> closure(const LinkIndex& links, const std::vector<Id>& roots, LinkStep step) {
  std::vector<Id> order;
  std::unordered_set<Id> seen(roots.begin(), roots.end());
  std::vector<Id> frontier = roots;
  for (size_t i = 0; i < frontier.size(); ++i) {
    if (i >= roots.size() && !carriesOn(frontier[i])) continue;
    for (Id next : (links.*step)(frontier[i])) {
      if (!seen.insert(next).second) continue;
      frontier.push_back(next);
      order.push_back(next);
    }
  }
  return order;
}

// A derived thing belongs to the active one alone when everything it came from does. An origin does when
// everything else that came from it, at the same or an earlier stage, does. `order` is nearest first, yet a
// node may be reached over a short cut before its other parents are judged, hence the second look.
void judge(const LinkIndex& links, const std::vector<Id>& order, LinkStep back, std::unordered_set<Id> only,
           Relatives& out) {
  bool changed = true;
  std::unordered_set<Id> mine(order.begin(), order.end());
  while (changed) {
    changed = false;
    for (Id id : order) {
      if (only.contains(id)) continue;
      const auto parents = (links.*back)(id);
      if (std::all_of(parents.begin(), parents.end(),
                      [&](Id p) { return only.contains(p) || !claims(links, p); }))
        changed |= only.insert(id).second;
    }
  }
  for (Id id : order) (only.contains(id) ? out.only : out.shared).insert(id);
}

}  // namespace

Relatives relativesOf(const SessionData& data, Id id) {
  Relatives out;
  out.of = id;
  if (!id) return out;
  std::vector<Id> roots{id};
  if (const auto* pair = data.decisions.find(id)) roots = {id, pair->a, pair->b};
  out.origins = closure(data.links, roots, &LinkIndex::origins);
  out.derived = closure(data.links, roots, &LinkIndex::derived);
  const std::unordered_set<Id> own(roots.begin(), roots.end());
  judge(data.links, out.derived, &LinkIndex::origins, own, out);
  judge(data.links, out.origins, &LinkIndex::derived, own, out);
  for (Id root : roots)
    if (root != id) out.only.insert(root);
  return out;
}

}  // namespace vitrine::kit
