// A schedule as CUDA C++ that a person can read: a line an operation, memory read and written 16 bytes at a
// time where its layout allows, rows kept in registers between their passes.
#pragma once

#include "core/codegen/cuda/shape.h"
#include "core/codegen/schedule/program.h"
#include "core/codegen/schedule/schedule.h"
#include "core/codegen/schedule/size_memory.h"

namespace vitrine::codegen::cuda {

// Fills text, lines, name, space, grid, bytes, flops of a kernel. Its arguments are pointers, by order of
// schedule.arguments; with parts, then a buffer for each of schedule.sums(), of its lanes' type: parts × rows
// across rows, else rows × parts; then its numbers, if sizes change. launch: which of schedule.launches().
// sizes: which numbers change; null: none.
Kernel emit_kernel(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                   const LaunchShape& shape, size_t launch = 0, SizeMemory* sizes = nullptr);

}  // namespace vitrine::codegen::cuda
