// Small values computed again where they are read. A nest of 768 elements that nests of 8 × 128 × 768 read (a
// weight's cast, a factor of a batch norm, a mask) would cost a launch and a tensor of its own; its body is
// copied into its readers instead, over the places of their index, and it does not run.
//
// What is joined to others in one nest (a half, turned and negated) is computed there too: each element once.
//
// What is copied: pointwise nests that only generated nests read, each at least twice as large or small
// itself, all between the same two writes; whose operands are inputs, results of PyTorch's operators or small
// values too (that of a cast on a GPU which makes it wider: any); and whose work an element is a few
// additions, on a GPU some more, or that stand still in their readers' last dim, where they are computed once
// a row.
#pragma once

#include "core/fusion/loops.h"

namespace vitrine::fusion {

LoopProgram recompute_small(LoopProgram program);

}  // namespace vitrine::fusion
