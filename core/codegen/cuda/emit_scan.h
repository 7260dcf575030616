// Running sums and products along rows. Where rows lie in one piece, threads share one: each adds up a run of
// neighbours, and what stands before it comes from the others. Where neighbours in memory belong to
// neighbouring rows, a thread has a row for itself; where these are too few threads, several share one row,
// beside those of the rows beside it.
#pragma once

#include "core/codegen/cuda/emit.h"

namespace vitrine::codegen::cuda {

// scan: how an element follows from the one before it and its own.
Kernel emit_scan(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                 fusion::Statement::Reduce scan, SizeMemory* sizes);

}  // namespace vitrine::codegen::cuda
