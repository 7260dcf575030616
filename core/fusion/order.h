// Units whose results wait for their readers run as late as they can. What a backward pass computes again
// from saved values depends on nothing else, so that it could all run first, and would all be held at once.
#pragma once

#include "core/fusion/fuse.h"

namespace vitrine::fusion {

// Moves a generated kernel to just before its first reader, if it writes more bytes than it reads for the
// last time; never across a write to memory, and nothing that draws random numbers. Everything else keeps its
// place.
void run_late(const LoopProgram& program, FusedProgram& fused);

}  // namespace vitrine::fusion
