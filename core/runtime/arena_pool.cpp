#include "core/runtime/arena_pool.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/large_memory.h"
#include "core/base/result.h"

namespace vitrine::runtime {

namespace {

constexpr size_t kAlign = 64;  // a vector register, a cache line

size_t padded(size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

ArenaPool::~ArenaPool() {
  for (const Block& b : blocks_) std::free(b.data);
}

void ArenaPool::join(size_t bytes) {
  needs_.insert(padded(bytes));
}

void ArenaPool::leave(size_t bytes) {
  needs_.erase(needs_.find(padded(bytes)));
  drop_free(needs_.empty() ? 0 : *needs_.rbegin());
}

void ArenaPool::drop_free(size_t larger_than) {
  std::erase_if(blocks_, [&](const Block& b) {
    const bool go = !b.taken && b.bytes > larger_than;
    if (go) std::free(b.data);
    return go;
  });
}

// The smallest that is large enough. A new one takes the place of all that are free and too small.
char* ArenaPool::take(size_t bytes) {
  bytes = padded(bytes);
  Block* found = nullptr;
  for (Block& b : blocks_)
    if (!b.taken && b.bytes >= bytes && (!found || b.bytes < found->bytes)) found = &b;
  if (!found) {
    drop_free(0);
    found = &blocks_.emplace_back(Block{allocate_large(bytes), bytes, false});
  }
  found->taken = true;
  return found->data;
}

void ArenaPool::give(char* block) {
  const auto at =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.data == block; });
  VITRINE_CHECK(at != blocks_.end() && at->taken, "a block that nobody has taken");
  at->taken = false;
  if (at->bytes > (needs_.empty() ? 0 : *needs_.rbegin())) drop_free(needs_.empty() ? 0 : *needs_.rbegin());
}

}  // namespace vitrine::runtime
