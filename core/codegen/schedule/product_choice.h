// Who computes a product, as it was measured, kept or dictated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::codegen {

struct ProductTime {
  int32_t candidate = 0;
  int64_t ns = 0;  // the best of several calls: of the product and of what follows it, if anything may join
  bool fused = false;  // both are one kernel
  std::string shape;   // of a GPU's kernel: how it is laid out; the candidate is a number of a shape
  bool operator==(const ProductTime&) const = default;
};

// What was measured for one node, and what follows from it: for a product, or for a GPU's kernel, by the
// first value that it stores, in which shape it runs.
struct ProductChoice {
  int32_t candidate = 0;           // who computes it
  bool fused = false;              // in one kernel with what follows it
  std::vector<ProductTime> times;  // of everybody; empty: not measured
  int threads = 0;                 // of the CPU
  std::string source;              // measured | kept (by an earlier measurement on this machine) | dictated
};

}  // namespace vitrine::codegen
