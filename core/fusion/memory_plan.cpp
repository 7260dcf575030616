#include "core/fusion/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace vitrine::fusion {

namespace {

constexpr int64_t kAlign = 64;

int64_t padded(int64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

bool at_once(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.offset < b.offset + padded(b.bytes) && b.offset < a.offset + padded(a.bytes);
}

// The smallest gap between the buffers alive at the same time that holds `b`.
int64_t best_fit(const Lifetime& b, const std::vector<const Lifetime*>& placed) {
  std::vector<const Lifetime*> others;
  for (const Lifetime* p : placed)
    if (at_once(*p, b)) others.push_back(p);
  std::sort(others.begin(), others.end(), [](auto* x, auto* y) { return x->offset < y->offset; });
  int64_t end = 0, best = -1, best_gap = INT64_MAX;
  for (const Lifetime* p : others) {
    int64_t gap = p->offset - end;
    if (gap >= padded(b.bytes) && gap < best_gap) best = end, best_gap = gap;
    end = std::max(end, p->offset + padded(p->bytes));
  }
  return best >= 0 ? best : end;
}

}  // namespace

int64_t plan_arena(std::vector<Lifetime>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<const Lifetime*> placed;
  int64_t size = 0;
  for (size_t i : order) {
    Lifetime& b = buffers[i];
    b.offset = best_fit(b, placed);
    size = std::max(size, b.offset + padded(b.bytes));
    placed.push_back(&b);
  }
  for (Lifetime& b : buffers) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      const Lifetime& other = buffers[i];
      bool newer = b.reuses < 0 || other.last > buffers[static_cast<size_t>(b.reuses)].last;
      if (other.last < b.first && overlap(b, other) && newer) b.reuses = static_cast<int32_t>(i);
    }
  }
  return size;
}

}  // namespace vitrine::fusion
