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

}  // namespace vitrine::fusion
