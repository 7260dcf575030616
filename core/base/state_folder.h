// What Vitrine remembers of this user between runs, apart from caches: $XDG_STATE_HOME/vitrine.
#pragma once

#include <string>

#include "core/base/private_folder.h"

namespace vitrine {

// Its path; "" for a user who has no home.
std::string state_path();

enum class Absent { Stays, IsMade };

// A folder in it, that only this user can look into. None where it is not there or cannot be made, or where
// somebody else could put things into it or one of its parents.
Descriptor state_folder(const char* name, Absent absent);

}  // namespace vitrine
