#include <algorithm>
#include <map>
#include <set>

#include "core/session/compare/parts.h"

namespace vitrine::session {

std::string function_of_key(const ComparedProgram& p) {
  const bool labelled = p.key.size() > p.label.size() && p.key.ends_with(" " + p.label);
  return p.key.substr(0, labelled ? p.key.size() - p.label.size() - 1 : p.key.size());
}

namespace {

bool is_backward(const ComparedProgram& p) {
  return p.label.ends_with(" backward");
}

// A backward graph is no forward graph's counterpart.
std::string function_of(const ComparedProgram& p) {
  return function_of_key(p) + (is_backward(p) ? " backward" : "");
}

// "0/0" of "0/0 backward".
std::string forward_label(const ComparedProgram& p) {
  return p.label.substr(0, p.label.find(' '));
}

// Whether one may be the other under another name: a third of the operators of the smaller are in both, or
// nothing is known of one of them.
bool may_be_same(const ComparedProgram& a, const ComparedProgram& b) {
  const bool chosen =
      function_of_key(a) == a.key && function_of_key(b) == b.key;  // compilations, by their labels
  if (chosen || of_two_compilers(a, b) || function_of(a) == function_of(b)) return true;
  std::set<std::string> some;
  for (const ComparedNode& node : a.nodes) some.insert(node.key);
  size_t both = 0;
  for (const ComparedNode& node : b.nodes) both += some.contains(node.key);
  return 3 * both >= std::min(a.nodes.size(), b.nodes.size());
}

// Programs whose captured graphs are the same; and the backward halves of two such.
void match_by_graph(ProgramPairs& out) {
  auto pair = [&](auto same) {
    for (const ComparedProgram*& a : out.removed) {
      const auto at = std::find_if(out.added.begin(), out.added.end(), [&](const ComparedProgram* b) {
        return b && is_backward(*a) == is_backward(*b) && same(*a, *b);
      });
      if (at == out.added.end()) continue;
      out.both.emplace_back(a, *at);
      a = *at = nullptr;
    }
    std::erase(out.removed, nullptr);
    std::erase(out.added, nullptr);
  };
  pair([](const ComparedProgram& a, const ComparedProgram& b) { return same_calls(a.calls, b.calls); });
  const auto forward = out.both;
  pair([&](const ComparedProgram& a, const ComparedProgram& b) {
    return is_backward(a) && std::any_of(forward.begin(), forward.end(), [&](const auto& both) {
             return forward_label(*both.first) == forward_label(a) &&
                    forward_label(*both.second) == forward_label(b);
           });
  });
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
  if (out.removed.size() == 1 && out.added.size() == 1 &&
      may_be_same(*out.removed.front(), *out.added.front())) {
    out.both.emplace_back(out.removed.front(), out.added.front());
    return {out.both, {}, {}};
  }
  match(out.removed, out.added, [](const ComparedProgram& p) { return p.key; }, out);
  match(out.removed, out.added, function_of, out);
  match_by_graph(out);
  return out;
}

}  // namespace vitrine::session
