#include "core/fusion/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace vitrine::fusion {

namespace {

constexpr int64_t kAlign = 64;

int64_t padded(int64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}
ir::Sym padded(const ir::Sym& bytes) {
  return ir::ceildiv(bytes, kAlign) * kAlign;
}

bool at_once(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.offset.hint() < b.offset.hint() + padded(b.bytes.hint()) &&
         b.offset.hint() < a.offset.hint() + padded(a.bytes.hint());
}

// The smallest gap between the buffers alive at the same time that holds `b`. placed: by offset.
int64_t best_fit(const Lifetime& b, const std::vector<const Lifetime*>& placed) {
  int64_t end = 0, best = -1, best_gap = INT64_MAX;
  for (const Lifetime* p : placed) {
    if (!at_once(*p, b)) continue;
    int64_t gap = p->offset.hint() - end;
    if (gap >= padded(b.bytes.hint()) && gap < best_gap) best = end, best_gap = gap;
    end = std::max(end, p->offset.hint() + padded(p->bytes.hint()));
  }
  return best >= 0 ? best : end;
}

// The largest first, each at the smallest gap: all sizes are plain.
ir::Sym place_plain(std::vector<Lifetime>& buffers, const std::vector<size_t>& order) {
  std::vector<const Lifetime*> placed;
  int64_t size = 0;
  for (size_t i : order) {
    Lifetime& b = buffers[i];
    const int64_t offset = best_fit(b, placed);
    b.offset = offset;
    size = std::max(size, offset + padded(b.bytes.hint()));
    const auto is_before = [](int64_t at, const Lifetime* p) { return at < p->offset.hint(); };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset, is_before), &b);
  }
  return size;
}

// A part of the arena, as long as the buffer that it was made for; others lie in it, beside each other or one
// after the other in time.
struct Slot {
  ir::Sym bytes, offset;
  std::vector<const Lifetime*> here;  // their offsets count from the slot's
};

// Where in the slot `b` fits for all sizes; nullopt: nowhere that is known.
std::optional<ir::Sym> place_in(const Slot& slot, const Lifetime& b) {
  if (b.bytes.hint() > slot.bytes.hint()) return {};
  std::vector<const Lifetime*> others;
  for (const Lifetime* p : slot.here)
    if (at_once(*p, b)) others.push_back(p);
  auto fits = [&](const ir::Sym& from) {
    const ir::Sym to = from + b.bytes;
    return ir::never_above(to, slot.bytes) &&
           std::all_of(others.begin(), others.end(), [&](const Lifetime* p) {
             return ir::never_above(to, p->offset) || ir::never_above(p->offset + padded(p->bytes), from);
           });
  };
  if (fits(0)) return ir::Sym(0);
  for (const Lifetime* p : others)
    if (const ir::Sym from = p->offset + padded(p->bytes); fits(from)) return from;
  return {};
}

ir::Sym place_symbolic(std::vector<Lifetime>& buffers, const std::vector<size_t>& order) {
  std::vector<Slot> slots;
  std::vector<size_t> slot_of(buffers.size());
  ir::Sym size = 0;
  for (size_t i : order) {
    Lifetime& b = buffers[i];
    std::optional<ir::Sym> at;
    for (size_t s = slots.size(); s-- > 0 && !at;)  // the smallest first
      if ((at = place_in(slots[s], b))) slot_of[i] = s;
    if (!at) {
      slot_of[i] = slots.size();
      slots.push_back({b.bytes, size, {}});
      size += padded(b.bytes);
      at = 0;
    }
    b.offset = *at;
    slots[slot_of[i]].here.push_back(&b);
  }
  for (size_t i = 0; i < buffers.size(); ++i) buffers[i].offset += slots[slot_of[i]].offset;
  return size;
}

}  // namespace

ir::Sym plan_arena(std::vector<Lifetime>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes.hint() > buffers[b].bytes.hint(); });
  const bool plain =
      std::none_of(buffers.begin(), buffers.end(), [](const Lifetime& b) { return b.bytes.symbolic(); });
  const ir::Sym size = plain ? place_plain(buffers, order) : place_symbolic(buffers, order);
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
