#include "core/codegen/cuda/shape.h"

#include <algorithm>
#include <bit>
#include <set>

#include "core/codegen/cuda/card.h"
#include "core/codegen/cuda/product.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cuda {

namespace {

constexpr int kLeastThreads = 128;
constexpr int kAccessBytes = 16;     // the widest load
constexpr int kKeptValues = 64;      // registers of a thread that may hold a row's values
constexpr int kResident = 4;         // blocks of 256 threads that walk through memory, on a multiprocessor
constexpr int64_t kFewRows = 1024;   // fewer rows are shared by more threads each,
constexpr int64_t kFewSums = 16384;  // and fewer of which 16-bit elements are only summed

// Neighbours that every tensor moves at once: the widest type decides, and rows must begin at multiples. What
// is read or written once a row does not count.
int widest_vector(const Schedule& s) {
  int64_t widest = 1;
  for (const Load& l : s.loads)
    if (!l.per_row && l.kind == Load::Kind::memory) widest = std::max(widest, ir::dtype_bytes(l.dtype));
  for (const ScheduledValue& v : s.values)
    if (!v.per_row && v.store >= 0)
      widest = std::max(widest, ir::dtype_bytes(s.arguments[static_cast<size_t>(v.store)].dtype));
  return static_cast<int>(std::clamp<int64_t>(kAccessBytes / widest, 1, 8));
}
int vector_of(const Schedule& s) {
  int vector = widest_vector(s);
  const ir::Sym along = s.across ? s.dims[s.rows - 1] : s.dims.back();
  while (vector > 1 && !ir::divides(vector, along)) vector /= 2;
  return vector;
}

// Whether long rows that begin anywhere may be read and written in runs that begin at multiples: all of them
// begin alike.
bool may_shift(const Schedule& s, int vector) {
  constexpr int64_t kLeastRuns = 64;
  if (s.dims.size() != s.rows + 1 || s.columns().hint() < kLeastRuns * vector) return false;
  for (const Load& l : s.loads)
    if (!l.per_row && (!l.plain() || (l.affine() && !is_shifted(s, l.strides, l.offset, vector))))
      return false;
  return std::none_of(s.values.begin(), s.values.end(), [&](const ScheduledValue& v) {
    return v.store >= 0 && !v.per_row && !is_shifted(s, v.store_strides, 0, vector);
  });
}

// Registers for each column of a thread: what is loaded or computed once and read in a later phase.
int kept_registers(const Schedule& s) {
  int64_t bytes = 0;
  for (size_t l = 0; l < s.loads.size(); ++l) {
    if (s.loads[l].kind != Load::Kind::memory && s.loads[l].kind != Load::Kind::drawn) continue;
    if (phases_of(s, static_cast<int>(l)) > 1)
      bytes += std::max<int64_t>(4, ir::dtype_bytes(fusion::lane_dtype(s.loads[l].dtype)));
  }
  for (const ScheduledValue& v : s.values)
    if (v.kept()) bytes += std::max<int64_t>(4, ir::dtype_bytes(fusion::lane_dtype(v.statement->dtype)));
  return std::max(1, static_cast<int>(bytes / 4));
}

constexpr int64_t kLeastTurned = 16;

// A few places along the dim, which the columns follow in memory: the taps of a weight beside its channels.
// Such a tile is read as one piece.
bool lies_in_one_piece(const Schedule& s, size_t d) {
  constexpr int64_t kFew = 3;
  const ir::Sym& places = s.dims[d];
  if (places.symbolic() || places.hint() < kFew || places.hint() >= kLeastTurned) return false;
  return std::ranges::all_of(s.loads, [&](const Load& l) {
    return !is_turned(l, static_cast<int>(d)) || l.strides.back().same(places);
  });
}

// The dim along which most bytes of loads lie that do not lie along the columns; -1: there is none that is
// worth a tile.
int turned_dim(const Schedule& s) {
  if (s.rows == 0 || s.dims.back().hint() < kLeastTurned) return -1;
  int64_t most = 0;
  int best = -1;
  for (size_t d = 0; d + 1 < s.dims.size(); ++d) {
    int64_t bytes = 0;
    for (const Load& l : s.loads)
      if (is_turned(l, static_cast<int>(d))) bytes += ir::dtype_bytes(l.dtype);
    if ((s.dims[d].hint() >= kLeastTurned || lies_in_one_piece(s, d)) && bytes > most)
      most = bytes, best = static_cast<int>(d);
  }
  return best;
}

// Tiles as large as several blocks of a multiprocessor have room for.
bool turn(const Schedule& s, LaunchShape& shape) {
  constexpr int kLarge = 64, kSmall = 32;
  constexpr int64_t kMostBytes = 40 << 10;
  const int d = turned_dim(s);
  const bool gathered = std::any_of(s.values.begin(), s.values.end(),
                                    [](const ScheduledValue& v) { return !v.store_gathered.empty(); });
  if (d < 0 || gathered) return false;
  int64_t bytes = 0, widest = 1;  // of one place in all tiles
  for (const Load& l : s.loads)
    if (is_turned(l, d))
      bytes += ir::dtype_bytes(l.dtype), widest = std::max(widest, ir::dtype_bytes(l.dtype));
  const ir::Sym deep = s.dims[static_cast<size_t>(d)], wide = s.dims.back();
  const int side = widest > 4 || bytes * kLarge * (kLarge + 2) > kMostBytes ? kSmall : kLarge;
  if (bytes * side * (side + 2) > kMostBytes) return false;
  shape.turned = d;
  shape.wide = wide.hint() <= kSmall ? kSmall : side;
  shape.deep = deep.hint() <= kSmall ? kSmall : side;
  const bool one_piece = lies_in_one_piece(s, static_cast<size_t>(d));
  if (one_piece) {
    shape.deep = static_cast<int>(deep.hint());
    while (shape.wide < 256 && wide.hint() >= 2 * shape.wide) shape.wide *= 2;
  }
  shape.threads =
      std::min(one_piece ? 512 : 256, shape.wide * shape.deep / 8);  // each has a run of the narrowest type
  shape.blocks =
      ir::ceildiv(wide, shape.wide) * ir::ceildiv(deep, shape.deep) * ir::floordiv(s.row_count(), deep);
  return true;
}

// Rows that are the innermost dim of what is read, where a block has room for as many as make whole accesses.
bool turn_rows(const Schedule& s, const Gpu& gpu, LaunchShape& shape) {
  constexpr int64_t kLeast = int64_t{1} << 18, kSectorBytes = 32, kSeveralBlocks = 56 << 10, kSums = 1 << 10;
  constexpr int kMostRows = 32;
  if (s.rows == 0 || s.dims.size() != s.rows + 1 || shape.vector == 1 || s.columns().symbolic()) return false;
  if ((s.row_count() * s.columns()).hint() < kLeast) return false;
  const int d = static_cast<int>(s.rows) - 1;
  std::vector<const Load*> turned;
  for (const Load& l : s.loads)
    if (is_turned(l, d)) turned.push_back(&l);
  if (turned.empty()) return false;
  auto bytes = [&](int rows) {
    int64_t out = 0;
    for (const Load* l : turned) out += rows * turned_row(s, *l) * ir::dtype_bytes(l->dtype);
    return out;
  };
  auto fits = [&](int rows) {
    return bytes(rows) + kSums <= gpu.block_bytes &&
           std::all_of(turned.begin(), turned.end(), [&](const Load* l) {
             return l->affine() && rows * ir::dtype_bytes(l->dtype) >= kSectorBytes &&
                    rows % turned_vector(s, *l, d) == 0;
           });
  };
  auto divides = [&](int rows) { return rows > 0 && ir::divides(rows, s.dims[static_cast<size_t>(d)]); };
  // Tiles that divide the rows first; else the last one lies partly behind them.
  int best = 0;
  for (const bool whole : {true, false})
    for (int rows = kMostRows; rows >= 4 && (whole || !divides(best)); rows /= 2)
      if (divides(rows) == whole && fits(rows) && (best == 0 || bytes(best) > kSeveralBlocks)) best = rows;
  if (best == 0) return false;
  shape.turned = d, shape.deep = best;
  shape.group = kWarp, shape.threads = kWarp * best;
  shape.items = 1, shape.registers = shape.shifted = false;
  shape.shared = bytes(best);
  return true;
}

// Whether runs of eight are read once and nothing is left of a row but its sums: products of one row.
bool only_sums(const Schedule& s, const LaunchShape& shape) {
  return shape.vector == 8 && s.phases.size() == 1 &&
         std::none_of(s.values.begin(), s.values.end(),
                      [](const ScheduledValue& v) { return !v.per_row && v.store >= 0; });
}

// Runs of which a thread has as many bytes as of four of 16 bytes: of the matrix, not of the row beside it.
int runs_of_sums(const Schedule& s) {
  constexpr int64_t kBytes = 8;  // of an element of each run
  int64_t widest = 1;
  for (const Load& l : s.loads)
    if (!l.per_row && l.kind == Load::Kind::memory && !l.stands_still(s.rows))
      widest = std::max(widest, ir::dtype_bytes(l.dtype));
  return static_cast<int>(kBytes / std::min<int64_t>(widest, 2));
}

// How far apart elements are whose numbers one call gives; 0: they are not drawn so, or not all of them.
int64_t turn_of(const Schedule& s) {
  int64_t turn = 0;
  for (const Load& l : s.loads) {
    if (l.kind != Load::Kind::drawn) continue;
    const bool alone =
        l.draw.together == 1 && l.aligned_by < 0 && l.offset.same(0) && ir::same(l.strides, {1});
    if (!alone || (turn > 0 && turn != l.draw.threads)) return 0;
    turn = l.draw.threads;
  }
  return turn;
}

LaunchShape pointwise_shape(const Schedule& s) {
  constexpr int kNumbers = 4;  // of a call
  LaunchShape shape;
  shape.vector = vector_of(s);
  if (turn(s, shape)) return shape;
  const ir::Sym total = s.row_count() * s.columns();
  if ((shape.turn = turn_of(s)) > 0) {
    shape.items = kNumbers;
    shape.blocks = ir::ceildiv(ir::ceildiv(total, kNumbers * shape.turn) * shape.turn,
                               int64_t{1} * shape.threads * shape.vector);
    return shape;
  }
  // Enough loads in flight to hide memory's latency, when there is work for every multiprocessor anyway.
  shape.items = total.hint() < int64_t{1} << 22 ? 1 : shape.vector > 1 ? 2 : 8;
  shape.blocks = ir::ceildiv(total, int64_t{1} * shape.threads * shape.vector * shape.items);
  return shape;
}

// How many blocks a multiprocessor shall hold at once: few enough registers must do, which threads with many
// sums (`each` of every reduction) do not have.
int resident(const Schedule& s, int each) {
  constexpr size_t kSums = 12, kLoads = 4;
  const std::vector<int> sums = s.sums();
  const bool narrow = std::all_of(sums.begin(), sums.end(), [&](int i) {
    return fusion::lane_dtype(s.values[static_cast<size_t>(i)].statement->dtype) == ir::DType::f32;
  });
  return narrow && sums.size() * static_cast<size_t>(each) <= kSums && s.loads.size() <= kLoads ? kResident
                                                                                                : 0;
}

constexpr int kManyThreads = 512;

// Whether every block of a later launch adds up what all parts of its rows left: few parts then, of few rows.
bool adds_again(const Schedule& s) {
  constexpr int64_t kLeast = 4096;
  if (!s.across || s.phases.size() < 2 || s.columns().hint() < kLeast) return false;
  // Threads fold a run of rows each: sums of one kind, one after another, in the same memory.
  std::set<std::pair<fusion::Statement::Reduce, ir::DType>> kinds;
  for (int i : s.sums()) {
    const fusion::Statement& sum = *s.values[static_cast<size_t>(i)].statement;
    kinds.emplace(sum.reduce, fusion::lane_dtype(sum.dtype));
  }
  int64_t shared = 0;
  for (const auto& [reduce, dtype] : kinds) shared += kManyThreads * vector_of(s) * ir::dtype_bytes(dtype);
  return shared <= kMostNamedShared;
}

// A tile of neighbouring rows, as wide as a few lines of memory, and as many threads for each as it has use
// for.
LaunchShape across_shape(const Schedule& s) {
  constexpr int kThreads = 256, kLine = 8;  // accesses of 16 bytes
  LaunchShape shape;
  shape.vector = vector_of(s);
  shape.registers = false;
  if (adds_again(s)) {
    shape.threads = kManyThreads;
    shape.group = kLine;
    const ir::Sym rows = s.dims[s.rows - 1];
    shape.blocks = ir::floordiv(s.row_count(), rows) * ir::ceildiv(rows, int64_t{1} * kLine * shape.vector);
    return shape;
  }
  const auto runs = static_cast<uint64_t>(ceil_div(s.dims[s.rows - 1].hint(), shape.vector));
  const int widest = static_cast<int>(std::min<uint64_t>(std::bit_ceil(runs), kThreads));
  const int64_t shared = s.columns().hint() / s.parts;
  shape.group = std::min(widest, kWarp);
  int deep = static_cast<int>(std::min<uint64_t>(
      kThreads / shape.group, std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, shared)))));
  while (shape.group < widest && shape.group * deep < kThreads) shape.group *= 2;
  shape.threads = std::max(kWarp, shape.group * deep);
  if (shape.threads == kThreads) shape.resident = resident(s, shape.vector);
  const ir::Sym rows = s.dims[s.rows - 1];
  shape.blocks =
      ir::floordiv(s.row_count(), rows) * ir::ceildiv(rows, int64_t{1} * shape.group * shape.vector);
  return shape;
}

// The last launch, if it only adds up what the parts of a warp's width of rows left.
LaunchShape added_shape(const Schedule& s) {
  LaunchShape shape;
  shape.registers = false;
  shape.group = kWarp;
  shape.threads = static_cast<int>(std::clamp<int64_t>(int64_t{kWarp} * std::bit_ceil(uint64_t(s.parts) / 2),
                                                       kLeastThreads, kMostThreads));
  const ir::Sym rows = s.dims[s.rows - 1];
  shape.blocks = ir::floordiv(s.row_count(), rows) * ir::ceildiv(rows, shape.group);
  return shape;
}

// Rows that are walked in parts, a block each.
LaunchShape part_shape(const Schedule& s) {
  LaunchShape shape;
  shape.vector = vector_of(s);
  shape.registers = false;
  shape.resident = resident(s, 1);
  shape.threads = shape.group = 256;
  shape.blocks = s.row_count();
  return shape;
}

// Groups that keep a sum for each of their columns while they go through rows: the fewest threads whose
// registers hold that, and what is under way. A warp needs no barrier, for which it may take many registers;
// where three blocks of warps have room, their rows are under way instead of each warp's next one. Of halves
// runs of four: those of eight leave no registers.
LaunchShape both_ways_shape(const Schedule& s) {
  constexpr int kOthers = 32, kMostRegisters = 112, kOfWarp = 232, kOfThird = 168, kRegisters = 65536;
  constexpr int kMostRun = 4;
  constexpr int64_t kRowsEach = 8;
  LaunchShape shape;
  shape.vector = std::min(vector_of(s), kMostRun);
  while (shape.vector > 1 && s.columns().hint() / shape.vector < kWarp) shape.vector /= 2;
  int64_t sums = 0, moving = 0, still = 0;  // bytes a column
  for (int i : s.sums())
    sums += ir::dtype_bytes(fusion::lane_dtype(s.values[static_cast<size_t>(i)].statement->dtype));
  for (const Load& l : s.loads)
    if (!l.per_row && l.kind == Load::Kind::memory)
      (l.stands_still(s.rows) ? still : moving) += ir::dtype_bytes(l.dtype);
  auto registers = [&](int64_t columns, bool ahead) {
    const int others = shape.group == kWarp ? kOthers * 5 / 2 : kOthers;
    return static_cast<int>(columns * (sums + still + moving * (ahead ? 2 : 1)) / 4) + others;
  };
  int needed = 0;
  for (int group = kWarp; group <= kMostThreads; group = group == kWarp ? kLeastThreads : group * 2) {
    shape.group = group;
    shape.threads = std::max(group, kLeastThreads);
    shape.items = static_cast<int>(ceil_div(ceil_div(s.columns().hint(), shape.vector), group));
    const int64_t columns = int64_t{1} * shape.items * shape.vector;
    if (group == kWarp) {
      shape.ahead = registers(columns, false) > kOfThird;
      needed = registers(columns, shape.ahead);
      if (needed <= (shape.ahead ? kOfWarp : kOfThird)) break;
    }
    if (group == kWarp) continue;
    shape.ahead = registers(columns, true) <= kMostRegisters;
    needed = registers(columns, shape.ahead);
    if (needed <= kMostRegisters) break;
  }
  needed = (needed + 7) / 8 * 8;
  shape.resident = std::clamp(kRegisters / (shape.threads * needed), 1, 2048 / shape.threads);
  const int64_t walkers =
      std::min<int64_t>(int64_t{1} * kMultiprocessors * shape.resident,
                        ceil_div(s.row_count().hint(), std::max<int64_t>(kRowsEach, shape.rows_a_block())));
  shape.blocks = walkers;
  return shape;
}

// What the walkers left, added up for a few columns a block: a warp's width where that is work for all.
LaunchShape column_sums_shape(const Schedule& s) {
  constexpr int kSector = 8;  // neighbours that memory is read by
  LaunchShape shape;
  shape.registers = false;
  shape.group = kWarp;
  while (shape.group > kSector && s.columns().hint() / shape.group < kMultiprocessors) shape.group /= 2;
  shape.threads = kMostThreads;
  shape.blocks = ir::ceildiv(s.columns(), shape.group);
  return shape;
}

// Bytes of what a block of the cluster keeps of a walked row; 0: it reads nothing twice.
int64_t kept_bytes(const Schedule& s, const LaunchShape& shape) {
  int64_t bytes = 0;
  if (s.columns().symbolic()) return 0;
  for (size_t l = 0; l < s.loads.size(); ++l)
    if (!s.loads[l].per_row && s.loads[l].affine() && s.loads[l].strides.back() == 1 &&
        phases_of(s, static_cast<int>(l)) > 1)
      bytes += shared_bytes(s, s.loads[l], shape);
  return bytes;
}

// A block a row that does not fit into registers, or a cluster of blocks, so that several are resident and
// some read while others write. shifted: neighbours of a run, where rows begin anywhere.
void walk(const Schedule& s, int shifted, const Gpu& gpu, LaunchShape& shape) {
  constexpr int kSharedThreads = 512, kClusterThreads = 256, kMostBlocks = 8, kMostResident = 4;
  constexpr int64_t kReserved = 3 << 10;  // of a block: its sums, and what the driver takes
  // Of runs of eight a thread has more than a register's worth under way for each that it reads.
  const bool many = std::max(shape.vector, shifted) > 4;
  shape.threads = shape.group = many ? kMostThreads / 2 : kMostThreads;
  if (shifted > 1) shape.vector = shifted, shape.shifted = shape.ends = true;
  if (shape.vector == 1) return;
  int64_t bytes = kept_bytes(s, shape);
  const int64_t alone = 99 << 10, wanted = gpu.multiprocessor_bytes / kMostResident;
  if (gpu.clusters && bytes > alone)
    while (shape.cluster < kMostBlocks && bytes + kReserved > wanted)
      shape.cluster *= 2, bytes = kept_bytes(s, shape);
  if (bytes == 0 || bytes + (shape.cluster > 1 ? kReserved : 0) > gpu.block_bytes) {
    shape.cluster = 1;
    return;
  }
  shape.shared = bytes;
  shape.threads = shape.group = shape.cluster > 1 ? kClusterThreads : kSharedThreads;
  shape.resident = static_cast<int>(std::clamp<int64_t>(gpu.multiprocessor_bytes / (bytes + kReserved), 1,
                                                        shape.cluster == 1 ? 2
                                                        : many             ? kMostResident - 1
                                                                           : kMostResident));
  // With a multiprocessor alone, a block has under way what several would have.
  if (shape.cluster > 1 && shape.resident == 1) shape.threads = shape.group = kMostThreads;
}

}  // namespace

bool is_shifted(const Schedule& s, const ir::Dims& strides, const ir::Sym& offset, int vector) {
  const auto first =
      std::find_if(s.loads.begin(), s.loads.end(), [](const Load& l) { return !l.per_row && l.affine(); });
  if (first == s.loads.end() || !strides.back().same(1) || !first->strides.back().same(1)) return false;
  auto alike = [&](const ir::Sym& a, const ir::Sym& b) { return ir::divides(vector, a - b); };
  for (size_t k = 0; k + 1 < strides.size(); ++k)
    if (!alike(strides[k], first->strides[k])) return false;
  return alike(offset, first->offset);
}

bool is_turned(const Load& l, int turned) {
  return turned >= 0 && l.kind == Load::Kind::memory && l.gathered.empty() && !l.per_row &&
         l.strides[static_cast<size_t>(turned)].same(1) && lies_apart(l.strides.back());
}

int64_t turned_row(const Schedule& s, const Load& l) {
  return s.columns() + kAccessBytes / ir::dtype_bytes(l.dtype);
}

int turned_vector(const Schedule& s, const Load& l, int turned) {
  const auto d = static_cast<size_t>(turned);
  int vector = static_cast<int>(std::clamp<int64_t>(kAccessBytes / ir::dtype_bytes(l.dtype), 1, 8));
  auto fits = [&] {
    if (!l.within.empty() || !ir::divides(vector, s.dims[d]) || !ir::divides(vector, l.offset)) return false;
    for (size_t k = 0; k < l.strides.size(); ++k)
      if (k != d && !ir::divides(vector, l.strides[k])) return false;
    return true;
  };
  while (vector > 1 && !fits()) vector /= 2;
  return vector;
}

int64_t parts_of(const Schedule& s, const Gpu& gpu) {
  if (gpu.matrices)
    if (few_rows(s)) return 1;
  if (!s.reduces || !std::all_of(s.loads.begin(), s.loads.end(),
                                 [&](const Load& l) { return l.plain() || (l.per_row && !s.across); }))
    return 1;
  constexpr int64_t kBlocks = kMultiprocessors * kResident, kEnough = kMultiprocessors * 2, kMost = 512;
  if (s.across) {
    const LaunchShape shape = across_shape(s);
    const int64_t turns = s.columns().hint() / (shape.threads / shape.group);  // of a thread
    if (adds_again(s)) return std::clamp<int64_t>(std::min(132 / shape.blocks.hint(), turns / 8), 1, kMost);
    if (shape.blocks.hint() >= kEnough || turns < 16) return 1;
    return std::clamp<int64_t>(std::min(ceil_div(kBlocks, shape.blocks.hint()), turns / 8), 1, kMost);
  }
  const int64_t turns = s.columns().hint() / (256 * vector_of(s));
  // With several phases a block a row passes over memory once less.
  const int64_t enough = s.phases.size() > 1 ? kEnough / 2 : kEnough;
  if (s.row_count().hint() >= enough || turns < 16) return 1;
  return std::clamp<int64_t>(std::min(ceil_div(kBlocks, s.row_count().hint()), turns / 4), 1, kMost);
}

int phases_of(const Schedule& s, int load) {
  return static_cast<int>(std::count_if(s.phases.begin(), s.phases.end(), [&](const Phase& p) {
    return std::find(p.loads.begin(), p.loads.end(), load) != p.loads.end();
  }));
}

int64_t stretch_of(const Schedule& s, const LaunchShape& shape) {
  return ceil_div(ceil_div(s.columns(), shape.vector), shape.cluster) * shape.vector;
}
int64_t shared_bytes(const Schedule& s, const Load& l, const LaunchShape& shape) {
  return stretch_of(s, shape) * ir::dtype_bytes(l.dtype);
}

LaunchShape choose_shape(const Schedule& s, const Gpu& gpu, size_t launch) {
  if (!s.reduces) return pointwise_shape(s);
  if (s.both_ways()) return launch == 0 ? both_ways_shape(s) : column_sums_shape(s);
  if (s.across || s.parts > 1) {
    if (s.across && launch == s.phases.size()) return added_shape(s);
    LaunchShape shape = s.across ? across_shape(s) : part_shape(s);
    if (launch < s.phases.size()) shape.blocks *= s.parts;
    return shape;
  }
  if (gpu.matrices)
    if (const auto product = few_rows(s)) return few_rows_shape(*product, gpu);
  LaunchShape shape;
  shape.vector = vector_of(s);
  if (turn_rows(s, gpu, shape)) {
    shape.blocks = ir::ceildiv(s.row_count(), shape.deep);
    return shape;
  }
  // Of runs of eight, looking at each element costs more than whole accesses save.
  constexpr int kMostShifted = 4;
  const int widest = widest_vector(s);
  const bool shifts = shape.vector < widest && may_shift(s, widest);
  if (shifts && widest <= kMostShifted) shape.vector = widest, shape.shifted = true;
  // Registers have room for so many columns; of rows whose length changes for longer ones too.
  const int64_t rows = s.row_count().hint(),
                columns = s.columns().symbolic()
                              ? 2 * static_cast<int64_t>(std::bit_ceil(
                                        static_cast<uint64_t>(std::max<int64_t>(1, s.columns().hint()))))
                              : s.columns().hint(),
                runs = ceil_div(columns + (shape.shifted ? shape.vector - 1 : 0), shape.vector);
  const int most_items = std::max(1, kKeptValues / (kept_registers(s) * shape.vector));
  // A warp shares a row while its values fit into registers; then the whole block does.
  int group = 1;
  const int preferred = rows < kFewRows ? only_sums(s, shape) ? runs_of_sums(s) / 2 : 2
                        : rows < kFewSums && only_sums(s, shape) ? runs_of_sums(s)
                                                                 : 8;  // runs of a thread
  while (group < kMostThreads && ceil_div(runs, group) > (group < kWarp ? 1 : preferred)) group *= 2;
  while (group < kMostThreads && ceil_div(runs, group) > most_items) group *= 2;
  // More than a warp is a block: its threads meet in memory that rows beside each other would share.
  if (group > kWarp) group = std::max(group, kLeastThreads);
  shape.group = group;
  shape.threads = std::max(kLeastThreads, group);
  shape.items = static_cast<int>(ceil_div(runs, group));
  // A block of so many threads whose registers are full has its multiprocessor alone, and memory waits while
  // it computes: rows are read again instead, mostly from the second-level cache.
  const int values = shape.items * shape.vector * kept_registers(s);
  // A cluster holds a row of most of its registers, too, and has several such blocks a multiprocessor.
  const int most_alone = gpu.clusters ? kKeptValues * 3 / 8 : kKeptValues / 2;
  const bool crowded = (group == kMostThreads && values > most_alone) ||
                       (group == kMostThreads / 2 && values > kKeptValues * 3 / 4);
  shape.registers = shape.items <= most_items && !crowded && s.pairs.empty();
  if (!shape.registers) walk(s, shifts ? widest : 0, gpu, shape);
  shape.blocks = ir::ceildiv(s.row_count(), shape.rows_a_block()) * shape.cluster;
  return shape;
}

}  // namespace vitrine::codegen::cuda
