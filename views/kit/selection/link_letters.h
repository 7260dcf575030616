// Linked colours: one letter for each Python expression that a kernel computes, in order of the source.
// Source and kernel panes give the same thing the same letter.
#pragma once

#include <map>

#include "views/kit/selection/selection.h"
#include "views/kit/session/session_data.h"

namespace vitrine::kit {

// The nearest expression that `id` came from, 0 if none.
Id nearestSpan(const SessionData& data, Id id);

// The kernel that the panes are about: of the active thing, else of the film's launch, else the first
// generated one.
Id kernelInFocus(const SessionData& data, const Selection& selection, Id compilation);

struct LinkLetters {
  std::map<Id, int> by_span;   // expression -> letter
  std::map<Id, int> by_range;  // kernel_range -> letter of its nearest expression
};
LinkLetters lettersOf(const SessionData& data, Id kernel);

}  // namespace vitrine::kit
