#include "core/fusion/space.h"

#include <algorithm>

#include "core/base/result.h"

namespace vitrine::fusion {

using ir::Dims;
using ir::Sym;

namespace {

// Of what is left of a dim: whether it is more than one place.
bool more(const Sym& left) {
  return left.symbolic() || left.hint() > 1;
}

}  // namespace

std::optional<Dims> refine(const Dims& a, const Dims& b) {
  if (!ir::numel(a).same(ir::numel(b))) return std::nullopt;
  Dims out;
  size_t i = a.size(), j = b.size();
  Sym left = 1, right = 1;  // what is left of the current dim of a and of b
  while (true) {
    while (left.same(1) && i > 0) left = a[--i];
    while (right.same(1) && j > 0) right = b[--j];
    if (left.same(1) && right.same(1)) break;
    const Sym part = left.hint() < right.hint() ? left : right;
    if (part.hint() == 0 || !ir::divides(part, left) || !ir::divides(part, right)) return std::nullopt;
    out.push_back(part);
    left = ir::floordiv(left, part);
    right = ir::floordiv(right, part);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

Dims split_strides(const Dims& strides, const Dims& from, const Dims& to) {
  Dims out(to.size(), 0);
  size_t k = to.size();
  for (size_t i = from.size(); i-- > 0;) {
    Sym left = from[i], stride = strides[i];
    while (more(left)) {
      VITRINE_CHECK(k > 0 && ir::divides(to[k - 1], left), "dims are no refinement");
      out[--k] = stride;
      stride *= to[k];
      left = ir::floordiv(left, to[k]);
    }
  }
  return out;
}

std::optional<Dims> join_strides(const Dims& strides, const Dims& from, const Dims& to) {
  Dims out(to.size(), 0);
  size_t k = from.size();
  for (size_t d = to.size(); d-- > 0;) {
    Sym left = to[d], next = 0;
    for (bool first = true; more(left); first = false) {
      VITRINE_CHECK(k > 0 && ir::divides(from[k - 1], left), "dims are no refinement");
      --k;
      if (from[k].same(1)) continue;
      if (first) out[d] = next = strides[k];
      if (!strides[k].same(next)) return std::nullopt;
      next = strides[k] * from[k];
      left = ir::floordiv(left, from[k]);
    }
  }
  return out;
}

void collapse(Dims& dims, size_t& boundary, const std::vector<Dims*>& strides) {
  for (size_t k = dims.size(); k-- > 1;) {
    if (k == boundary) continue;
    bool joins = std::all_of(strides.begin(), strides.end(),
                             [&](const Dims* s) { return (*s)[k - 1].same((*s)[k] * dims[k]); });
    if (!joins) continue;
    dims[k - 1] *= dims[k];
    dims.erase(dims.begin() + static_cast<int64_t>(k));
    for (Dims* s : strides) {
      (*s)[k - 1] = (*s)[k];
      s->erase(s->begin() + static_cast<int64_t>(k));
    }
    if (boundary > k) --boundary;
  }
}

namespace {

void scale(Range& r, const Sym& by) {
  if (r.bounded_below()) r.low *= by;
  if (r.bounded_above()) r.high *= by;
  for (Sym& s : r.strides) s *= by;
}
// Dims up to the last along which it moves.
size_t moving(const Range& r, const Dims& dims) {
  size_t last = dims.size();
  while (last > 0 && r.strides[last - 1].same(0)) --last;
  return last;
}

}  // namespace

void stretch(Range& r, const Dims& dims) {
  const size_t last = moving(r, dims);
  if (last == 0 || !r.strides[last - 1].same(1)) return;
  Sym inner = 1;
  for (size_t k = last; k < dims.size(); ++k) inner *= dims[k];
  scale(r, inner);
  for (size_t k = dims.size(); k > last; --k) {
    const Sym next = k == dims.size() ? Sym(1) : r.strides[k] * dims[k];
    r.strides[k - 1] = next;
  }
}

void shrink(Range& r, const Dims& dims) {
  // Whole dims at the end through which the sum only counts on: i * n + c is within if i is.
  while (!dims.empty()) {
    const size_t last = moving(r, dims);
    if (last == 0 || !r.strides[last - 1].same(1)) break;
    const Sym n = dims[last - 1];
    bool whole = more(n) && last > 1 && (!r.bounded_below() || ir::divides(n, r.low)) &&
                 (!r.bounded_above() || ir::divides(n, r.high));
    for (size_t k = 0; k + 1 < last; ++k) whole = whole && ir::divides(n, r.strides[k]);
    if (!whole) break;
    r.strides[last - 1] = 0;
    for (Sym& s : r.strides) s = ir::floordiv(s, n);
    if (r.bounded_below()) r.low = ir::floordiv(r.low, n);
    if (r.bounded_above()) r.high = ir::floordiv(r.high, n);
  }
  if (!dims.empty() && r.strides.back() < 0) {
    for (Sym& s : r.strides) s = -s;
    const Sym low = r.bounded_above() ? 1 - r.high : Sym(-Range::kNone);
    r.high = r.bounded_below() ? 1 - r.low : Sym(Range::kNone);
    r.low = low;
  }
  Sym least = 0, most = 0;
  for (size_t k = 0; k < dims.size(); ++k) (r.strides[k] < 0 ? least : most) += r.strides[k] * (dims[k] - 1);
  if (ir::never_above(r.low, least)) r.low = -Range::kNone;
  if (ir::never_above(most + 1, r.high)) r.high = Range::kNone;
}

}  // namespace vitrine::fusion
