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
// By function, place and number; what is left of a function by its order there.
ProgramPairs pair_programs(const ComparedSession& before, const ComparedSession& after);

void compare_facts(const ComparedSession& before, const ComparedSession& after, Changes& out);
void compare_capture(const ComparedSession& before, const ComparedSession& after, const ProgramPairs& pairs,
                     Changes& out);
void compare_graphs(const ComparedProgram& before, const ComparedProgram& after, Changes& out);
void compare_fusion(const ComparedProgram& before, const ComparedProgram& after, Changes& out);
void compare_kernels(const ComparedProgram& before, const ComparedProgram& after, Changes& out);

}  // namespace vitrine::session
