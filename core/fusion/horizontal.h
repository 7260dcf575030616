// Kernels that compute the same on other tensors become one launch: an optimizer's updates of its parameters,
// the step counts of each. Such units are flat (every tensor is walked through in the order of its elements),
// and none needs what another computes.
#pragma once

#include "core/fusion/fuse.h"

namespace vitrine::fusion {

// Puts the groups of such units into Unit::alike of the first, and the units into an order that keeps every
// dependency and every barrier; each verdict is a decision.
//
// What waits for the others keeps its memory meanwhile. So a unit takes part only if what it writes lasts
// anyway (an input's new value, a result) or is small, and if it reads what lasts, or updates an input.
// bisect: may forbid single groups; may be null. weights_last: what is computed of weights alone is kept
// between calls, so that it is united with its like alone.
void fuse_horizontally(const LoopProgram& program, FusedProgram& fused, OptBisect* bisect = nullptr,
                       bool weights_last = false);

}  // namespace vitrine::fusion
