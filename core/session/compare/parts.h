// What the parts of a comparison share: which program of one session is which of the other.
#pragma once

#include <utility>
#include <vector>

#include "core/session/compare/difference.h"

namespace vitrine::session {

using Changes = std::vector<SessionChange>;

struct ProgramPairs {
  std::vector<std::pair<const ComparedProgram*, const ComparedProgram*>> both;
  std::vector<const ComparedProgram*> removed, added;
};
// One of each, if they may be the same. By function, place and number; what is left of a function by its
// order there; what is left then, as between what was imported and ours, by graphs that are the same.
ProgramPairs pair_programs(const ComparedSession& before, const ComparedSession& after);

// Whether one of two is another compiler's, so that only what was captured can be compared by names.
inline bool of_two_compilers(const ComparedProgram& a, const ComparedProgram& b) {
  return a.imported != b.imported;
}
// "MLP.forward" of the key "MLP.forward 0/0".
std::string function_of_key(const ComparedProgram& p);

void compare_facts(const ComparedSession& before, const ComparedSession& after, Changes& out);
void compare_capture(const ComparedSession& before, const ComparedSession& after, const ProgramPairs& pairs,
                     Changes& out);
void compare_graphs(const ComparedProgram& before, const ComparedProgram& after, Changes& out);
void compare_fusion(const ComparedProgram& before, const ComparedProgram& after, Changes& out);
void compare_kernels(const ComparedProgram& before, const ComparedProgram& after, Changes& out);

}  // namespace vitrine::session
