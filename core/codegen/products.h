// Matrix products that a kernel of our own can compute in place of PyTorch's: which calls those are, the
// kernel, and what it is called with. Whether it does is a choice by measurement, made by who compiles.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/codegen/program.h"

namespace vitrine::codegen {

// What was measured for one node, and what follows from it.
struct ProductChoice {
  bool generated = false;
  int64_t generated_ns = 0, library_ns = 0;  // the best of several calls; 0: not measured
  int threads = 0;
};
using ProductChoices = std::map<ir::NodeId, ProductChoice>;

// Whether the choices are offered, made, or dictated.
struct ProductOptions {
  bool offered = false;           // library steps carry their alternative: Step::instead
  int threads = 1;                // of the pool, to share out the work
  int64_t least_flops = 4 << 20;  // smaller products are not worth a choice
  ProductChoices choices;
};

struct ProductCall {
  Kernel kernel;
  std::vector<ir::Ref> reads;    // a, b and perhaps the bias: the kernel's arguments around its output
  std::vector<int64_t> numbers;  // the kernel's last argument
};

// mm, or addmm with beta = alpha = 1, of f32 matrices that are not empty; the bias is of any shape that
// broadcasts over rows. Nothing: another operator, or one that our kernel does not cover.
std::optional<ProductCall> product_call(const ir::Graph& graph, const ir::Node& node, int lanes,
                                        const ProductOptions& options);

}  // namespace vitrine::codegen
