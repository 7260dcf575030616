// Graph breaks as a person counts them: by cause. Each compilation of a segment ends at the same instruction
// and records a row of its own; a break of a called function ends its caller's segment, too; and a line that
// stops twice without a graph between stops once. All of them together are one break.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::session {

struct BreakCause {
  std::vector<const BreakRow*> rows;  // never empty: those at the cause itself first, of these the dearest
  int64_t calls = 0;                  // how often it stopped
  double ns_per_call = 0;             // each time, in steady calls, callers' part included; 0: not measured
  int64_t priced = 0;  // of how many of these calls the price is; 0: not measured, or not recorded
};

// Whether a row is of the frame that stops, not of one that calls it. Its segment may end some instructions
// before the cause: a number is read, and only its comparison needs to know it.
bool is_own(const BreakRow& row);

// The instruction that a person goes to.
inline Id place_of(const BreakCause& cause) {
  const BreakRow& row = *cause.rows.front();
  return row.cause ? row.cause : row.instruction;
}

// What a break's row refers to.
struct BreakContext {
  std::function<const CompilationRow*(Id)> compilation;        // nullptr: unknown
  std::function<std::pair<Id, int64_t>(Id instruction)> line;  // its code and line; {0, 0}: unknown
};

// In the order of their first row.
std::vector<BreakCause> break_causes(const std::vector<const BreakRow*>& breaks, const BreakContext& context);

}  // namespace vitrine::session
