// Frames, compilations, breaks, recompilations, guards and failures.
#include <algorithm>

#include "core/session/compare/parts.h"

namespace vitrine::session {

namespace {

using What = SessionChange::What;
using Sign = SessionChange::Sign;

void compare_breaks(const ComparedSession& before, const ComparedSession& after, Changes& out) {
  auto change = [](Sign sign, const ComparedBreak& b) {
    return SessionChange{What::Break, sign, b.place,  b.text,
                         "",          "",   b.reason, sign == Sign::Removed ? -b.ns_per_call : b.ns_per_call};
  };
  for (const auto& [key, b] : before.breaks)
    if (!after.breaks.contains(key)) out.push_back(change(Sign::Removed, b));
  for (const auto& [key, b] : after.breaks)
    if (!before.breaks.contains(key)) out.push_back(change(Sign::Added, b));
}

// Frames of paired programs are the same under another name: "MLP.forward" and Dynamo's "forward".
void compare_frames(ComparedSession before, ComparedSession after, const ProgramPairs& pairs, Changes& out) {
  for (const auto& [a, b] : pairs.both)
    if (const std::string was = function_of_key(*a), is = function_of_key(*b);
        of_two_compilers(*a, *b) && was != is)
      before.frames.erase(was), after.frames.erase(is);
  for (const auto& [name, state] : after.frames) {
    const auto at = before.frames.find(name);
    if (at == before.frames.end())
      out.push_back({What::Frame, Sign::Added, "", name, "", "", state, 0});
    else if (at->second != state)
      out.push_back({What::Frame, Sign::Changed, "", name, at->second, state, "", 0});
  }
  for (const auto& [name, state] : before.frames)
    if (!after.frames.contains(name)) out.push_back({What::Frame, Sign::Removed, "", name, "", "", state, 0});
}

void compare_recompilations(const ComparedSession& before, const ComparedSession& after, Changes& out) {
  for (const auto& [what, how] : after.recompilations)
    if (!before.recompilations.contains(what))
      out.push_back({What::Recompilation, Sign::Added, "", what, "", "", how, 0});
  for (const auto& [what, how] : before.recompilations)
    if (!after.recompilations.contains(what))
      out.push_back({What::Recompilation, Sign::Removed, "", what, "", "", how, 0});
}

void compare_guards(const ComparedProgram& a, const ComparedProgram& b, Changes& out) {
  if (of_two_compilers(a, b)) {  // each has its own way to ask the same
    if (a.guards.size() != b.guards.size())
      out.push_back({What::Guard, Sign::Changed, b.key, "how many are checked",
                     std::to_string(a.guards.size()), std::to_string(b.guards.size()), "", 0});
    return;
  }
  std::vector<std::string> removed, added;
  std::set_difference(a.guards.begin(), a.guards.end(), b.guards.begin(), b.guards.end(),
                      std::back_inserter(removed));
  std::set_difference(b.guards.begin(), b.guards.end(), a.guards.begin(), a.guards.end(),
                      std::back_inserter(added));
  for (const std::string& text : removed)
    out.push_back({What::Guard, Sign::Removed, b.key, text, "", "", "", 0});
  for (const std::string& text : added) out.push_back({What::Guard, Sign::Added, b.key, text, "", "", "", 0});
}

void compare_failures(const ComparedSession& before, const ComparedSession& after, Changes& out) {
  auto add = [&](const ComparedSession& from, const ComparedSession& other, Sign sign) {
    std::vector<std::string> told;
    for (const std::string& text : from.failures) {
      const auto& there = other.failures;
      if (std::find(there.begin(), there.end(), text) != there.end() ||
          std::find(told.begin(), told.end(), text) != told.end())
        continue;
      told.push_back(text);
      out.push_back({What::Failure, sign, "", text, "", "", "", 0});
    }
  };
  add(before, after, Sign::Removed);
  add(after, before, Sign::Added);
  if (before.status != after.status)
    out.push_back({What::Failure, Sign::Changed, "", "the run", before.status, after.status, "", 0});
}

}  // namespace

void compare_capture(const ComparedSession& before, const ComparedSession& after, const ProgramPairs& pairs,
                     Changes& out) {
  compare_frames(before, after, pairs, out);
  compare_breaks(before, after, out);
  compare_recompilations(before, after, out);
  compare_failures(before, after, out);
  for (const ComparedProgram* p : pairs.removed)
    out.push_back({What::Graph, Sign::Removed, p->key,
                   "compilation of " + std::to_string(p->nodes.size()) + " operators", "", "", "", 0});
  for (const ComparedProgram* p : pairs.added)
    out.push_back({What::Graph, Sign::Added, p->key,
                   "compilation of " + std::to_string(p->nodes.size()) + " operators", "", "", p->message,
                   0});
  for (const auto& [a, b] : pairs.both) {
    if (a->status != b->status)
      out.push_back(
          {What::Failure, Sign::Changed, b->key, "the compilation", a->status, b->status, b->message, 0});
    compare_guards(*a, *b, out);
  }
}

}  // namespace vitrine::session
