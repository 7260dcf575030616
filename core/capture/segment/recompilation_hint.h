// What a user can do about a recompilation, by what did not hold.
#pragma once

#include <string>

#include "core/capture/guards/guard_tree.h"
#include "core/capture/trace/sizes.h"

namespace vitrine::capture {

struct RecompilationCause {
  GuardFailure failure;
  const Guard* guard = nullptr;  // that did not hold; nullptr: none in particular
  DynamicMode dynamic = DynamicMode::Automatic;
  bool is_behind_break = false;  // of a part of the function that begins behind a graph break
  int arguments = 0;             // of the function: its first locals
  int varargs = -1;              // of them that of *args, -1: there is none
  bool asked_before =
      false;  // of another compilation of the place, the same source was asked for its value, too
};

std::string recompilation_hint(const RecompilationCause& cause);

}  // namespace vitrine::capture
