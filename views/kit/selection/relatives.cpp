#include "views/kit/selection/relatives.h"

#include <algorithm>

namespace vitrine::kit {

namespace {

// Neighbours by the links, and a kernel's lines, which the links leave out: each stems from its node, and
// belongs to a kernel of that node.
class Provenance {
 public:
  explicit Provenance(const SessionData& data) : data_(data) {}

  std::span<const Id> origins(Id id) {
    if (kind_of(id) != Kind::KernelRange) return data_.links.origins(id);
    const auto [at, first] = lines_.try_emplace(id);
    if (const auto* row = first ? data_.ranges.find(id) : nullptr) at->second = {row->node};
    return at->second;
  }
  std::span<const Id> derived(Id id) {
    const auto linked = data_.links.derived(id);
    if (kind_of(id) != Kind::Node) return linked;
    const auto [at, first] = lines_.try_emplace(id);
    std::vector<Id>& all = at->second;
    if (!first) return all;
    all.assign(linked.begin(), linked.end());
    for (const Id kernel : linked)
      if (kind_of(kernel) == Kind::Kernel)
        for (const Id line : data_.ranges.of_node(kernel, id)) all.push_back(line);
    return all;
  }

 private:
  const SessionData& data_;
  std::unordered_map<Id, std::vector<Id>> lines_;  // by node what it became, by line its node
};

using LinkStep = std::span<const Id> (Provenance::*)(Id);

// Decisions are leaves: they tell of a pair, they do not carry provenance on.
bool carriesOn(Id id) {
  return kind_of(id) != Kind::Decision;
}

// Whether `id`, which came from an origin, says that the origin belongs to others too. What leads nowhere
// does not: a guard, a verdict, an instruction that only prepares a call.
bool claims(Provenance& links, Id id) {
  const Kind kind = kind_of(id);
  if (kind == Kind::Decision || kind == Kind::Guard) return false;
  const auto made = links.derived(id);
  return kind != Kind::Instruction ||
         std::any_of(made.begin(), made.end(), [](Id next) { return kind_of(next) != Kind::Guard; });
}

std::vector<Id> closure(Provenance& links, const std::vector<Id>& roots, LinkStep step) {
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
void judge(Provenance& links, const std::vector<Id>& order, LinkStep back, std::unordered_set<Id> only,
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
  Provenance links(data);
  out.origins = closure(links, roots, &Provenance::origins);
  out.derived = closure(links, roots, &Provenance::derived);
  const std::unordered_set<Id> own(roots.begin(), roots.end());
  judge(links, out.derived, &Provenance::origins, own, out);
  judge(links, out.origins, &Provenance::derived, own, out);
  for (Id root : roots)
    if (root != id) out.only.insert(root);
  return out;
}

}  // namespace vitrine::kit
