// How a schedule is laid out over a GPU's threads: who computes which element, how wide memory is read, and
// what stays in registers.
#pragma once

#include "core/codegen/cuda/gpu.h"
#include "core/codegen/schedule/schedule.h"

namespace vitrine::codegen::cuda {

// Pointwise: a thread computes `items` runs of `vector` neighbours, a block's threads apart.
// Rows: `group` threads share a row; a thread computes `items` runs of `vector` columns of it. In registers:
// every value that a later phase reads again stays there. Otherwise a phase walks the row and loads anew.
//
// Turned rows: they lie beside each other in memory, and what belongs to one lies apart. A block reads as
// many as a line of memory holds, and each row is walked in shared memory, by a warp.
//
// Both ways: as rows, and each group goes through many rows; `ahead`: the next one's values are on their way
// meanwhile. Its second launch: `group` neighbouring columns, the others of the block share these.
//
// Turned: what lies in memory along another dim than the one that is written is read a tile at a time, along
// its own dim, and turned in shared memory; a block computes a tile of columns × `turned` dim.
//
// Products of few rows: warps share the inner dim of a tile of columns.
//
// Across rows: `group` threads beside each other take runs of `vector` neighbouring rows, the others of the
// block share these.
struct LaunchShape {
  int threads = 256;  // of a block
  int vector = 1;     // neighbouring elements that one access moves, at most 16 bytes
  int items = 1;      // runs a thread computes
  int group = 1;  // rows: threads that share one, a power of two up to 32, or the whole block; across: above
  bool registers = true;
  // Rows do not begin at multiples of `vector`: their runs do, the first and the last of which lie only
  // partly within the row.
  bool shifted = false;
  // Of shifted rows that are walked: the elements before the first run that is all within the row, and after
  // the last, are computed by themselves.
  bool ends = false;
  // Bytes of a block's shared memory in which what the first walk reads waits for those after it.
  int64_t shared = 0;
  // Blocks that share a walked row, a stretch of its columns each, and see each other's sums.
  int cluster = 1;
  // Pointwise, drawn: a thread's four runs are so many elements apart, as those that one call of the
  // generator gives numbers for.
  int64_t turn = 0;
  bool ahead = false;
  int resident = 0;        // blocks that a multiprocessor shall hold at once; 0: the compiler chooses
  int turned = -1;         // dim along which turned loads lie; -1: there are none
  int wide = 0, deep = 0;  // of a tile: columns, and places along that dim
  // Columns that a block computes of a product of few rows (core/codegen/cuda/product.h), whose warps have
  // `items` steps of a row in shared memory; 0: it is something else.
  int product = 0;
  ir::Sym blocks = 1;
  int rows_a_block() const { return threads / group; }
};

LaunchShape choose_shape(const Schedule& schedule, const Gpu& gpu = {}, size_t launch = 0);

// Whether a place begins as far from a multiple of `vector`, in each row, as what the kernel reads first.
bool is_shifted(const Schedule& schedule, const ir::Dims& strides, const ir::Sym& offset, int vector);
// Whether the load is one of those that lie along dim `turned`.
bool is_turned(const Load& load, int turned);
// Neighbours along dim `turned` that one access of the load moves.
int turned_vector(const Schedule& schedule, const Load& load, int turned);
// Elements from one row to the next of a turned load in shared memory: those of a row begin in banks of their
// own.
int64_t turned_row(const Schedule& schedule, const Load& load);

// Phases that read the load.
int phases_of(const Schedule& schedule, int load);
// Columns of a block of the shape's cluster: whole runs.
int64_t stretch_of(const Schedule& schedule, const LaunchShape& shape);
// Bytes of these of a load.
int64_t shared_bytes(const Schedule& schedule, const Load& load, const LaunchShape& shape);

// What Schedule::parts should be: enough blocks for every multiprocessor. Only sizes decide.
int64_t parts_of(const Schedule& schedule, const Gpu& gpu = {});

}  // namespace vitrine::codegen::cuda
