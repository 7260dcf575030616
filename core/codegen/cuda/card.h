// What generated kernels count on, whatever the card.
#pragma once

#include <cstdint>

namespace vitrine::codegen::cuda {

constexpr int kWarp = 32, kMostThreads = 1024;  // threads of a warp, and of a block
// How many blocks fill a card: those of an H100 and an H200. Fewer are there on smaller cards, whose blocks
// take turns.
constexpr int64_t kMultiprocessors = 132;

inline int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace vitrine::codegen::cuda
