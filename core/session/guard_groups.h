// Guards as a person counts them: like ones together. A model of many layers has a guard on every parameter,
// and one on every module's hooks; each kind of them is one thing to know.
#pragma once

#include <string>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::session {

enum class GuardLikeness { None, Parameters, SameObject, SameAnswer };

struct GuardGroup {
  GuardLikeness likeness = GuardLikeness::None;  // None: one guard
  std::vector<const GuardRow*> rows;             // in order; never empty
  double cost_ns = 0;
  int64_t checks = 0, fails = 0;  // checks: of the one that is checked most
};

// Of guards in order, each group where its first one stood. Those of one compilation and root are grouped.
std::vector<GuardGroup> guard_groups(const std::vector<const GuardRow*>& guards);

// "24 parameters", "15 names of one object", "12 modules and values"; "" of one guard.
std::string group_title(const GuardGroup& group);
// What all of them expect, or "each its own type".
std::string group_expected(const GuardGroup& group);

}  // namespace vitrine::session
