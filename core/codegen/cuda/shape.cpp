#include "core/codegen/cuda/shape.h"

#include <algorithm>

namespace vitrine::codegen::cuda {

namespace {

constexpr int kWarp = 32, kLeastThreads = 128, kMostThreads = 1024;
constexpr int kAccessBytes = 16;    // the widest load
constexpr int kKeptValues = 64;     // registers of a thread that may hold a row's values
constexpr int64_t kFewRows = 1024;  // fewer rows are shared by more threads each

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Neighbours that every tensor moves at once: the widest type decides, and rows must begin at multiples. What
// is read or written once a row does not count.
int vector_of(const cpp::Schedule& s) {
  int64_t widest = 1;
  for (const cpp::Load& l : s.loads)
    if (!l.per_row && l.kind == cpp::Load::Kind::memory) widest = std::max(widest, ir::dtype_bytes(l.dtype));
  for (const cpp::Value& v : s.values)
    if (!v.per_row && v.store >= 0)
      widest = std::max(widest, ir::dtype_bytes(s.arguments[static_cast<size_t>(v.store)].dtype));
  int vector = static_cast<int>(std::clamp<int64_t>(kAccessBytes / widest, 1, 8));
  while (vector > 1 && s.dims.back() % vector != 0) vector /= 2;
  return vector;
}

// Arrays of registers: what is loaded or computed once and read in a later phase.
int kept_arrays(const cpp::Schedule& s) {
  int kept = 0;
  for (size_t l = 0; l < s.loads.size(); ++l) {
    if (s.loads[l].kind != cpp::Load::Kind::memory) continue;
    int phases = 0;
    for (const cpp::Phase& p : s.phases)
      phases += std::find(p.loads.begin(), p.loads.end(), static_cast<int>(l)) != p.loads.end();
    kept += phases > 1;
  }
  for (const cpp::Value& v : s.values) kept += v.kept();
  return std::max(1, kept);
}

Shape pointwise_shape(const cpp::Schedule& s) {
  Shape shape;
  shape.vector = vector_of(s);
  const int64_t total = s.row_count() * s.columns();
  // Enough loads in flight to hide memory's latency, when there is work for every multiprocessor anyway.
  shape.items = total >= int64_t{1} << 22 ? 2 : 1;
  shape.blocks = ceil_div(total, int64_t{1} * shape.threads * shape.vector * shape.items);
  return shape;
}

}  // namespace

Shape choose_shape(const cpp::Schedule& s) {
  if (!s.reduces) return pointwise_shape(s);
  Shape shape;
  shape.vector = vector_of(s);
  const int64_t rows = s.row_count(), columns = s.columns(), runs = ceil_div(columns, shape.vector);
  const int most_items = std::max(1, kKeptValues / (kept_arrays(s) * shape.vector));
  // A warp shares a row while its values fit into registers; then the whole block does.
  int group = 1;
  const int preferred = rows < kFewRows ? 2 : 8;  // runs of a thread
  while (group < kMostThreads && ceil_div(runs, group) > (group < kWarp ? 1 : preferred)) group *= 2;
  while (group < kMostThreads && ceil_div(runs, group) > most_items) group *= 2;
  // More than a warp is a block: its threads meet in memory that rows beside each other would share.
  if (group > kWarp) group = std::max(group, kLeastThreads);
  shape.group = group;
  shape.threads = std::max(kLeastThreads, group);
  shape.items = static_cast<int>(ceil_div(runs, group));
  // A block of so many threads whose registers are full has its multiprocessor alone, and memory waits while
  // it computes: rows are read again instead, mostly from the second-level cache.
  const bool crowded = group == kMostThreads && shape.items * shape.vector * kept_arrays(s) > kKeptValues / 2;
  shape.registers = shape.items <= most_items && !crowded;
  if (!shape.registers) shape.threads = shape.group = kMostThreads;
  shape.blocks = ceil_div(rows, shape.rows_a_block());
  return shape;
}

}  // namespace vitrine::codegen::cuda
