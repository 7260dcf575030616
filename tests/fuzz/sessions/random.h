// Numbers decided by a seed alone: the standard's distributions differ from library to library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace vitrine::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // From 0 to bound - 1.
  uint64_t below(uint64_t bound) { return engine_() % (bound ? bound : 1); }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace vitrine::fuzz
