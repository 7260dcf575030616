// A schedule as readable, freestanding C++ with explicit vectors: a line an operation, one work item a row
// (or a block of elements), phases over a row as small lambdas that run for whole vectors and for the rest.
#pragma once

#include "core/codegen/schedule/program.h"
#include "core/codegen/schedule/schedule.h"
#include "core/codegen/schedule/size_memory.h"

namespace vitrine::codegen::cpp {

struct Target {
  int lanes = 16;               // f32 values of a vector: 16 for AVX-512, 8 for AVX2
  int64_t stream_bytes = 0;     // codegen::CodegenOptions
  SizeMemory* sizes = nullptr;  // the same
  bool marks_offsets = false;   // the caller resolves mark_offset()
};

// Fills text, lines, name, space, work, grain, bytes, flops of a kernel. Its arguments are
// schedule.arguments, in order; with parts, then a buffer for each of schedule.sums(), of its lanes' type:
// parts × rows across rows, else rows × parts. launch: which of schedule.launches(). The text holds no name
// that differs between equal kernels of two layers.
Kernel emit_kernel(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                   const Target& target, size_t launch = 0);

}  // namespace vitrine::codegen::cpp
