// What the text of a recorded loop says of it: its kind, its nest, what it reads.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::profiler {

// The number of places of a nest: a number, and sizes that change.
struct NestSize {
  uint64_t number = 1;
  std::multiset<std::string> symbols;
  bool operator==(const NestSize&) const = default;
};

// What a loop's text says of it: "mul: pointwise for [4,16] over [16]; ...".
struct LoopWords {
  std::string kind, why;          // pointwise | reduction | library | opaque | inlined
  std::vector<std::string> dims;  // of its nest
  std::vector<std::string> over;  // that are reduced
  std::string reads;              // where it reads, "$0 = gelu[3072,1], ..."
};

LoopWords words_of(const session::NodeRow& node);

// "4,16]..." or "4, 16]" -> "4", "16".
std::vector<std::string> sizes(const std::string& text, size_t from);
NestSize nest_size(const std::vector<std::string>& dims);

}  // namespace vitrine::profiler
