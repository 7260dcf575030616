#include <algorithm>
#include <map>

#include "core/session/compare/parts.h"

namespace vitrine::session {

namespace {

std::string function_of(const ComparedProgram& p) {
  const size_t end = p.key.size() > p.label.size() && p.key.ends_with(" " + p.label)
                         ? p.key.size() - p.label.size() - 1
                         : p.key.size();
  // A backward graph is no forward graph's counterpart.
  return p.key.substr(0, end) + (p.label.ends_with(" backward") ? " backward" : "");
}

template <class KeyOf>
void match(std::vector<const ComparedProgram*>& before, std::vector<const ComparedProgram*>& after,
           KeyOf key_of, ProgramPairs& out) {
  for (const ComparedProgram*& a : before) {
    const auto at = std::find_if(after.begin(), after.end(),
                                 [&](const ComparedProgram* b) { return b && key_of(*a) == key_of(*b); });
    if (at == after.end()) continue;
    out.both.emplace_back(a, *at);
    a = *at = nullptr;
  }
  std::erase(before, nullptr);
  std::erase(after, nullptr);
}

}  // namespace

ProgramPairs pair_programs(const ComparedSession& before, const ComparedSession& after) {
  ProgramPairs out;
  for (const ComparedProgram& p : before.programs) out.removed.push_back(&p);
  for (const ComparedProgram& p : after.programs) out.added.push_back(&p);
  if (out.removed.size() == 1 && out.added.size() == 1) {  // whatever they are called
    out.both.emplace_back(out.removed.front(), out.added.front());
    return {out.both, {}, {}};
  }
  match(out.removed, out.added, [](const ComparedProgram& p) { return p.key; }, out);
  match(out.removed, out.added, function_of, out);
  return out;
}

}  // namespace vitrine::session
