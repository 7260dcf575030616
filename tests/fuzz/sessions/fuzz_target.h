// What both fuzz targets share: inputs are sessions, and most mutations are structural.
#pragma once

#include <cstring>

#include "tests/fuzz/sessions/session_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view before(reinterpret_cast<const char*>(data), size);
  const std::string after = vitrine::fuzz::mutate_session(before, seed);
  if (after.size() > max_size) return size;
  std::memcpy(data, after.data(), after.size());
  return after.size();
}
