// What is wrong in a session, or costs time, as rows: what to look at first comes first.
#pragma once

#include <string>
#include <vector>

#include "core/session/reader.h"

namespace vitrine::cli {

struct SessionProblem {
  // In order of urgency.
  enum class Urgency { Failure, Difference, Fallback, Break, Recompilation, Slower, Hint };
  Urgency kind = Urgency::Failure;
  std::string text, place;  // place: the user's line, "block.py:12:4"; "" where there is none
  std::string more;         // reason or what to do instead; ""
  std::string stage;        // of `show` that tells more; "": none does
  int64_t times = 1;
  double ns_per_call = 0;  // its price; 0: not known
  std::string price;       // in words; ""
};

std::string_view word_of(SessionProblem::Urgency kind);  // "graph break"

std::vector<SessionProblem> problems_of(const session::Reader& session);

}  // namespace vitrine::cli
