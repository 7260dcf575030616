// Operators that keep each step of a sum or product along one dim: every element of the result is that of all
// elements up to its own.
#pragma once

#include <optional>
#include <string>

#include "core/fusion/loops.h"

namespace vitrine::fusion {

bool is_scanning(const ir::Node& node);
// The whole loop. nullopt: not this use of it; `why` says what of it. Every type has lanes, and the result
// has elements.
std::optional<Loop> scanning_loop(const LoopProgram& program, const ir::Node& node, std::string& why);

}  // namespace vitrine::fusion
