// Sums of what has the same index, added in the order of the nest's rows whatever thread is first, so that
// they come out the same each time: the gradient of an embedding. Where the result has few rows, each block
// keeps a table of sums for some of the nest's rows, and a last launch adds the tables up. Otherwise the rows
// are sorted by index, tile by tile, and merged eight pieces at a time; runs of neighbours are added up, and
// what has the same index in several runs is joined.
#pragma once

#include <algorithm>
#include <vector>

#include "core/codegen/cuda/emit.h"

namespace vitrine::codegen::cuda {

struct OrderedSums {
  enum class Stage : uint8_t { sort, merge, runs, ends, tables, total };
  static constexpr int kRun = 8;   // neighbours in the order that a thread adds up
  static constexpr int kWays = 8;  // sorted pieces that a merge makes one
  int tile = 0;                    // indices that a block sorts, a power of two
  std::vector<Stage> stages;       // launches, in order
  int64_t count = 0;               // rows of the nest: indices
  int64_t targets = 0;             // rows of the result
  int64_t walkers = 0;             // tables
  int64_t skipped = -1;            // index of which nothing is added
  bool zero = false;               // the result was 0 all over before
  bool has_tables() const { return walkers > 0; }
  size_t merges() const { return static_cast<size_t>(std::ranges::count(stages, Stage::merge)); }
  int64_t runs() const { return (count + kRun - 1) / kRun; }
};

// Of a schedule whose last loop writes ordered sums (fusion::Loop::ordered).
OrderedSums ordered_sums(const Schedule& schedule, const fusion::Loop& loop);

// Memory that all launches share behind the schedule's arguments, in order: with tables their sums; else
// targets and rows of each tile, both in order, and the sums of runs that do not end or begin in them.
std::vector<ir::TensorType> ordered_memory(const Schedule& schedule, const OrderedSums& sums);

// What one of the launches takes: of the schedule's arguments and of that memory, by number, in order; and
// what of the memory it writes. The last launch of each kind writes the result.
struct OrderedArguments {
  std::vector<int> own;
  std::vector<size_t> memory, written;
};
OrderedArguments ordered_arguments(const Schedule& schedule, const OrderedSums& sums, size_t launch);

Kernel emit_ordered(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                    const OrderedSums& sums, size_t launch, SizeMemory* sizes);

}  // namespace vitrine::codegen::cuda
