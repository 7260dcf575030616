// Memory for the arenas of plans on the CPU. Plans of one model run one after the other: each takes a block
// for a call and gives it back, so that forward and backward share one, and it stays mapped. The GIL must be
// held in every function.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

namespace vitrine::runtime {

class ArenaPool {
 public:
  ArenaPool() = default;
  ~ArenaPool();
  ArenaPool(const ArenaPool&) = delete;

  // Whoever may take() says so before, and afterwards that it will not any more: what nobody needs is freed.
  void join(size_t bytes);
  void leave(size_t bytes);

  char* take(size_t bytes);  // 64-byte aligned, at least so large; throws std::bad_alloc
  void give(char* block);

 private:
  struct Block {
    char* data;
    size_t bytes;
    bool taken;
  };
  void drop_free(size_t larger_than);

  std::vector<Block> blocks_;
  std::multiset<size_t> needs_;
};

}  // namespace vitrine::runtime
