// Operators that write where an index tensor says, in a copy of a tensor: scatter, index_put, and their sums.
// Two kernels: one fills the result, one goes through the indices. Which of several writers to one place is
// the last, and in which order several are added, is as little known as in eager's own kernels; of an
// operator whose eager kernel keeps an order, the sums are ordered.
#pragma once

#include <optional>
#include <string>

#include "core/fusion/loops.h"

namespace vitrine::fusion {

bool is_scattering(const ir::Node& node);
// The whole loop. nullopt: not this use of it; `why` says what of it. Every type has lanes, and the result
// has elements.
std::optional<Loop> scattering_loop(const LoopProgram& program, const ir::Node& node, std::string& why);

// Ordered sums whose result has so few rows that a block keeps all of them.
bool has_few_targets(int64_t targets, ir::DType dtype);

// What fills the result before: a loop over all its elements.
LoopProgram filling_loop(const LoopProgram& program, const Loop& scattering);

}  // namespace vitrine::fusion
