// A sum of gradients one of which is ordered sums that begin with 0: they begin with the other instead, whose
// memory they are added in if nobody else wants it. The gradient of an embedding that is a model's last layer
// too then touches the rows that its indices name, and no others.
#pragma once

#include "core/fusion/loops.h"

namespace vitrine::fusion {

LoopProgram add_in_place(LoopProgram program);

}  // namespace vitrine::fusion
