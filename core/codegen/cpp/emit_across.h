// Kernels whose lanes run across rows: sums of columns, statistics of channels that lie side by side. A work
// item is a tile of neighbouring rows (and a part of what is reduced): it walks along memory, a tile's width
// at a time, and keeps the sums of the tile in the first-level cache.
#pragma once

#include "core/codegen/cpp/emit.h"

namespace vitrine::codegen::cpp {

// schedule.across; launch: which of its launches().
Kernel emit_across(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                   const Target& target, size_t launch);

}  // namespace vitrine::codegen::cpp
