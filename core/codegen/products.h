// Matrix products (and convolutions) that a kernel of our own can compute in place of PyTorch's: who could
// compute one, the kernel for it, and what it is called with. Who does is a choice by measurement, made by
// who compiles.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codegen/cpp/epilogue_text.h"
#include "core/codegen/cpp/product_text.h"
#include "core/codegen/cuda/matrix/large_product.h"
#include "core/codegen/schedule/product_choice.h"
#include "core/codegen/schedule/program.h"

namespace vitrine::codegen {

// One row a way to compute a product.
struct ProductCandidate {
  std::string_view name;          // of a kernel: its tile, rows x columns of sums in registers
  cpp::ProductTile tile;          // lanes 0: a library's call
  int algorithm = 0;              // of a GPU: 0 is PyTorch's own call, n the n-th that cuBLASLt proposes
  bool winograd = false;          // cpp/winograd_text.h: convolutions with a window of 3 x 3 alone
  cuda::ProductTiles tiles = {};  // of a GPU: a kernel of ours, if there are columns
};
// Position in it: the number of a candidate. The first is PyTorch's.
std::span<const ProductCandidate> product_candidates();

using ProductChoices = std::map<ir::NodeId, ProductChoice>;

// Whether the choices are offered or made.
struct ProductOptions {
  bool offered = false;           // library steps carry their alternatives: Step::instead
  int threads = 1;                // of the pool, to share out the work
  int64_t least_flops = 4 << 20;  // smaller products are not worth a choice
  int32_t only = 0;               // the one candidate to offer; 0: all
  bool any_size = false;          // kernels serve every size: it will change
  bool holds_weights = false;     // what a kernel packs of a weight may be kept between calls
  bool on_gpu = false;            // a GPU's products and kernels carry theirs too: Step::instead and shapes
  ProductChoices choices;
};

// An operator of the table of products.
bool is_product(const ir::Node& node);
// One that cuBLASLt may compute.
bool is_gpu_product(const ir::Node& node);
// On any device, by a library.
bool is_matrix_product(const ir::Node& node);

struct ProductCall {
  Kernel kernel;
  std::vector<ir::Ref> reads;    // a, b and perhaps the bias: the kernel's arguments around its output
  std::vector<ir::Sym> numbers;  // the kernel's last argument
  cpp::ProductForm form;
  std::optional<cpp::ProductSpace> space;  // nothing: the output is not contiguous
};

// By the candidate's kernel: mm, bmm, addmm with beta = alpha = 1, or a convolution, of f32 values that are
// not empty; addmm's bias is of any shape that broadcasts over rows; a convolution's tensors are contiguous.
// Nothing: another operator, one that the kernel does not cover, or a tile that is not for vectors of
// `lanes`.
std::optional<ProductCall> product_call(const ir::Graph& graph, const ir::Node& node, int32_t candidate,
                                        int lanes, const ProductOptions& options);

// The call of both in one kernel, from that of the product. Its arguments are a, b, the accumulator, perhaps
// the bias, and the epilogue's.
void add_epilogue(ProductCall& call, const cpp::Epilogue& epilogue, const Kernel& alone, int32_t candidate);

}  // namespace vitrine::codegen
