// What a user can do about a recompilation, by what did not hold.
#pragma once

#include <string>

#include "core/capture/segment/guard_tree.h"
#include "core/capture/sizes.h"

namespace vitrine::capture {

std::string recompilation_hint(const GuardFailure& failure, DynamicMode dynamic);

}  // namespace vitrine::capture
