#include "core/codegen/cuda/row_order.h"

#include <algorithm>

namespace vitrine::codegen::cuda {

namespace {

constexpr int64_t kLeastShared = int64_t{4} << 20;  // bytes that several rows read; less stays in the cache
constexpr int64_t kLeastRead = int64_t{64} << 20;   // bytes that are read once

bool may_be_reordered(const Schedule& s) {
  if (!s.reduces || s.across || s.parts != 1 || s.both_ways() || s.turns || s.rows < 2 || s.gathers() ||
      s.draws() >= 0)
    return false;
  const auto symbolic = [](const ir::Sym& n) { return n.symbolic(); };
  return std::ranges::none_of(s.dims, symbolic) &&
         std::ranges::none_of(s.values, [](const ScheduledValue& v) { return !v.store_gathered.empty(); });
}

// Bytes of what a load touches, each once.
int64_t footprint(const Schedule& s, const Load& load) {
  int64_t bytes = ir::dtype_bytes(load.dtype);
  for (size_t d = 0; d < s.dims.size(); ++d)
    if (!load.strides[d].same(0)) bytes *= s.dims[d].hint();
  return bytes;
}

void move_innermost(const Schedule& s, size_t dim, ir::Dims& of) {
  if (of.empty()) return;
  const auto begin = of.begin() + static_cast<std::ptrdiff_t>(dim);
  std::rotate(begin, begin + 1, of.begin() + static_cast<std::ptrdiff_t>(s.rows));
}

}  // namespace

Schedule with_shared_rows_together(Schedule s) {
  if (!may_be_reordered(s)) return s;
  size_t best = s.rows - 1;
  int64_t most = 0, read_once = 0;
  for (const Load& l : s.loads)
    if (l.affine() && std::ranges::none_of(l.strides, [](const ir::Sym& n) { return n.same(0); }))
      read_once += footprint(s, l);
  if (read_once < kLeastRead) return s;
  for (size_t d = 0; d + 1 < s.rows; ++d) {
    int64_t shared = 0;
    for (const Load& l : s.loads)
      if (l.affine() && !l.per_row && l.strides[d].same(0) && !s.dims[d].same(1)) shared += footprint(s, l);
    if (shared >= kLeastShared && shared > most) best = d, most = shared;
  }
  if (most == 0) return s;
  for (Load& l : s.loads) {
    move_innermost(s, best, l.strides);
    for (fusion::Range& r : l.within) move_innermost(s, best, r.strides);
  }
  for (ScheduledValue& v : s.values) move_innermost(s, best, v.store_strides);
  move_innermost(s, best, s.dims);
  return s;
}

}  // namespace vitrine::codegen::cuda
