#include "core/fusion/space.h"

#include <algorithm>

#include "core/base/result.h"

namespace vitrine::fusion {

using ir::Dims;

std::optional<Dims> refine(const Dims& a, const Dims& b) {
  if (ir::numel(a) != ir::numel(b)) return std::nullopt;
  Dims out;
  size_t i = a.size(), j = b.size();
  int64_t left = 1, right = 1;  // what is left of the current dim of a and of b
  while (true) {
    while (left == 1 && i > 0) left = a[--i];
    while (right == 1 && j > 0) right = b[--j];
    if (left == 1 && right == 1) break;
    int64_t part = std::min(left, right);
    if (left % part != 0 || right % part != 0) return std::nullopt;
    out.push_back(part);
    left /= part;
    right /= part;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

Dims split_strides(const Dims& strides, const Dims& from, const Dims& to) {
  Dims out(to.size(), 0);
  size_t k = to.size();
  for (size_t i = from.size(); i-- > 0;) {
    int64_t left = from[i], stride = strides[i];
    while (left > 1) {
      VITRINE_CHECK(k > 0 && left % to[k - 1] == 0, "dims are no refinement");
      out[--k] = stride;
      stride *= to[k];
      left /= to[k];
    }
  }
  return out;
}

std::optional<Dims> join_strides(const Dims& strides, const Dims& from, const Dims& to) {
  Dims out(to.size(), 0);
  size_t k = from.size();
  for (size_t d = to.size(); d-- > 0;) {
    int64_t left = to[d], next = 0;
    for (bool first = true; left > 1; first = false) {
      VITRINE_CHECK(k > 0 && left % from[k - 1] == 0, "dims are no refinement");
      --k;
      if (from[k] == 1) continue;
      if (first) out[d] = next = strides[k];
      if (strides[k] != next) return std::nullopt;
      next = strides[k] * from[k];
      left /= from[k];
    }
  }
  return out;
}

void collapse(Dims& dims, size_t& boundary, const std::vector<Dims*>& strides) {
  for (size_t k = dims.size(); k-- > 1;) {
    if (k == boundary) continue;
    bool joins = std::all_of(strides.begin(), strides.end(),
                             [&](const Dims* s) { return (*s)[k - 1] == (*s)[k] * dims[k]; });
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

void scale(Range& r, int64_t by) {
  if (r.bounded_below()) r.low *= by;
  if (r.bounded_above()) r.high *= by;
  for (ir::Sym& s : r.strides) s *= by;
}

}  // namespace

void stretch(Range& r, const Dims& dims) {
  size_t last = dims.size();
  while (last > 0 && r.strides[last - 1] == 0) --last;
  if (last == 0 || r.strides[last - 1] != 1) return;
  int64_t inner = 1;
  for (size_t k = last; k < dims.size(); ++k) inner *= dims[k];
  scale(r, inner);
  for (size_t k = dims.size(); k > last; --k) {
    const ir::Sym next = k == dims.size() ? ir::Sym(1) : r.strides[k] * dims[k];
    r.strides[k - 1] = next;
  }
}

void shrink(Range& r, const Dims& dims) {
  // Whole dims at the end through which the sum only counts on: i * n + c is within if i is.
  while (!dims.empty()) {
    size_t last = dims.size();
    while (last > 0 && r.strides[last - 1] == 0) --last;
    if (last == 0 || r.strides[last - 1] != 1) break;
    const int64_t n = dims[last - 1];
    bool whole = n > 1 && last > 1 && (!r.bounded_below() || r.low % n == 0) &&
                 (!r.bounded_above() || r.high % n == 0);
    for (size_t k = 0; k + 1 < last; ++k) whole = whole && r.strides[k] % n == 0;
    if (!whole) break;
    r.strides[last - 1] = 0;
    for (ir::Sym& s : r.strides) s = s / n;
    if (r.bounded_below()) r.low /= n;
    if (r.bounded_above()) r.high /= n;
  }
  if (!dims.empty() && r.strides.back() < 0) {
    for (ir::Sym& s : r.strides) s = -s;
    const int64_t low = r.bounded_above() ? 1 - r.high : -Range::kNone;
    r.high = r.bounded_below() ? 1 - r.low : Range::kNone;
    r.low = low;
  }
  int64_t least = 0, most = 0;
  for (size_t k = 0; k < dims.size(); ++k) (r.strides[k] < 0 ? least : most) += r.strides[k] * (dims[k] - 1);
  if (r.low <= least) r.low = -Range::kNone;
  if (r.high > most) r.high = Range::kNone;
}

}  // namespace vitrine::fusion
