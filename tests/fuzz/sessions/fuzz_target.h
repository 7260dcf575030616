// What both fuzz targets share: inputs are sessions, and most mutations are structural.
#pragma once

#include <cstring>

#include "tests/fuzz/sessions/session_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view before(reinterpret_cast<const char*>(data), size);
  constexpr unsigned kTries = 4;  // of one that grows too large
  for (unsigned i = 0; i < kTries; ++i) {
    const std::string after = vitrine::fuzz::mutate_session(before, uint64_t{i} << 32 | seed);
    if (after.size() > max_size) continue;
    std::memcpy(data, after.data(), after.size());
    return after.size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
