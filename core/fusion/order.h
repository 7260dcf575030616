// When units run, for the sake of memory. Those whose results wait for their readers run as late as they can.
// What a backward pass computes again from saved values depends on nothing else, so that it could all run
// first, and would all be held at once.
#pragma once

#include "core/fusion/fuse.h"

namespace vitrine::fusion {

// Moves a generated kernel to just before its first reader, if it writes more bytes than it reads for the
// last time; never across a write to memory, and nothing that draws random numbers. Everything else keeps its
// place.
void run_late(const LoopProgram& program, FusedProgram& fused);

// Moves a generated kernel to just behind the last unit that it needs, if it reads more bytes for the last
// time than it writes; within the same limits, and never before another reader of an input that takes the
// place of what it writes. A weight's update that stands at the end of a step would hold what its gradient is
// summed from all through the backward pass; so would the step counts that it reads, which are few numbers of
// given ones: such a kernel rises too.
void run_early(const LoopProgram& program, FusedProgram& fused);

}  // namespace vitrine::fusion
