#include "core/session/guard_groups.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace vitrine::session {

namespace {

constexpr size_t kFewest = 3;  // that are worth a row of their own

bool is_parameter(const GuardRow& g) {
  return g.kind == "tensor" && (g.source.find("['_parameters']['") != std::string::npos ||
                                g.source.find("['_buffers']['") != std::string::npos);
}

GuardLikeness likeness_of(const GuardRow& g) {
  if (!g.members.empty()) return GuardLikeness::None;  // it is a group already
  if (is_parameter(g)) return GuardLikeness::Parameters;
  if (g.kind == "alias") return GuardLikeness::SameObject;
  return g.expected.empty() ? GuardLikeness::None : GuardLikeness::SameAnswer;
}

// Guards with equal keys are alike.
using LikenessKey = std::tuple<Id, GuardLikeness, std::string, std::string, std::string>;
LikenessKey key_of(const GuardRow& g) {
  const GuardLikeness likeness = likeness_of(g);
  const bool types_differ = likeness == GuardLikeness::Parameters;
  return {g.compilation, likeness, g.root, g.kind, types_differ ? "" : g.expected};
}

}  // namespace

std::vector<GuardGroup> guard_groups(const std::vector<const GuardRow*>& guards) {
  std::map<LikenessKey, size_t> counts, known;
  for (const GuardRow* g : guards) ++counts[key_of(*g)];
  std::vector<GuardGroup> out;
  for (const GuardRow* g : guards) {
    const LikenessKey key = key_of(*g);
    const GuardLikeness likeness = std::get<GuardLikeness>(key);
    const bool alone = likeness == GuardLikeness::None || counts[key] < kFewest;
    const auto [at, fresh] = alone ? std::pair{known.end(), true} : known.try_emplace(key, out.size());
    if (fresh) out.push_back({alone ? GuardLikeness::None : likeness});
    GuardGroup& group = fresh ? out.back() : out[at->second];
    group.rows.push_back(g);
    group.cost_ns += g->cost_ns;
    group.checks = std::max(group.checks, g->checks);
    group.fails += g->fails;
  }
  return out;
}

std::string group_title(const GuardGroup& group) {
  const std::string n = std::to_string(group.rows.size());
  switch (group.likeness) {
    case GuardLikeness::None:
      return "";
    case GuardLikeness::Parameters:
      return n + " parameters";
    case GuardLikeness::SameObject:
      return n + " names of one object";
    case GuardLikeness::SameAnswer:
      return n + " alike";
  }
  return "";
}

std::string group_expected(const GuardGroup& group) {
  const std::string& first = group.rows.front()->expected;
  const bool same = std::all_of(group.rows.begin(), group.rows.end(),
                                [&](const GuardRow* g) { return g->expected == first; });
  return same ? first : "each its own type";
}

}  // namespace vitrine::session
