#include "core/base/large_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace vitrine {

namespace {

constexpr size_t kVector = 64;             // a vector register, a cache line
constexpr size_t kPage = size_t{2} << 20;  // a large page of x86-64

constexpr size_t rounded_up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

void want_large_pages(void* data, size_t bytes) {
  if (bytes < kPage) return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const size_t first = rounded_up(begin, kPage), last = (begin + bytes) / kPage * kPage;
  // It is a wish: refused, small pages do as well.
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

char* allocate_large(size_t bytes) {
  const size_t unit = bytes < kPage ? kVector : kPage;
  void* data = std::aligned_alloc(unit, rounded_up(bytes, unit));
  if (!data) throw std::bad_alloc();
  want_large_pages(data, bytes);
  return static_cast<char*>(data);
}

}  // namespace vitrine
