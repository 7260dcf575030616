#include "core/pipeline/pipeline.h"

#include <algorithm>

#include "core/codegen/epilogue_fusion.h"
#include "core/fusion/add_in_place.h"
#include "core/fusion/horizontal.h"
#include "core/fusion/order.h"
#include "core/fusion/recompute.h"
#include "core/passes/attention/attention_mask.h"
#include "core/passes/attention/fuse_attention.h"
#include "core/passes/attention/known_mask.h"
#include "core/passes/attention/one_row_attention.h"
#include "core/passes/cleanup/canonicalise.h"
#include "core/passes/cleanup/cse.h"
#include "core/passes/cleanup/dce.h"
#include "core/passes/cleanup/functionalise.h"
#include "core/passes/cleanup/rematerialise.h"
#include "core/passes/decompose/batch_norm.h"
#include "core/passes/decompose/decompose.h"
#include "core/passes/decompose/short_bags.h"
#include "core/passes/decompose/sums_of_one.h"
#include "core/passes/decompose/uniform_bags.h"
#include "core/passes/layout/channels_last.h"
#include "core/passes/layout/fold_views.h"
#include "core/passes/layout/image_windows.h"
#include "core/passes/layout/rows_in_place.h"
#include "core/passes/layout/rows_innermost.h"
#include "core/passes/library_calls/convolution_relu.h"
#include "core/passes/library_calls/library_gelu.h"
#include "core/passes/library_calls/linear_activation.h"
#include "core/passes/library_calls/one_row_products.h"
#include "core/passes/library_calls/pad_products.h"
#include "core/passes/library_calls/split_addmm_bias.h"
#include "core/passes/library_calls/split_convolution_bias.h"
#include "core/passes/library_calls/sums_of_products.h"
#include "core/passes/library_calls/wide_products.h"

namespace vitrine::pipeline {

namespace {

void loops(Build& b) {
  const codegen::CodegenOptions& o = b.options;
  b.loops = fusion::build_loops(b.graph, o.fuse, o.by_pytorch, o.draws, o.ordered);
}
void add_in_place(Build& b) {
  b.loops = fusion::add_in_place(std::move(b.loops));
}
void recompute_small(Build& b) {
  b.loops = fusion::recompute_small(std::move(b.loops));
}
void fuse(Build& b) {
  b.readers.emplace(b.loops);
  b.fused = fusion::fuse(b.loops, *b.readers, b.options.gives_back, b.options.bisect.get());
}
void epilogue_fusion(Build& b) {
  codegen::join_products(b.loops, *b.readers, b.fused, b.options.products.choices);
}
void horizontal_fusion(Build& b) {
  fusion::fuse_horizontally(b.loops, b.fused, b.options.bisect.get(),
                            b.options.products.holds_weights && !b.options.sizes);
}
void run_early(Build& b) {
  fusion::run_early(b.loops, b.fused);
}
void run_late(Build& b) {
  fusion::run_late(b.loops, b.fused);
}
void shared_launches(Build& b) {
  b.builder->share_launches();
}
void kernels(Build& b) {
  b.builder = std::make_unique<codegen::ProgramBuilder>(b.loops, *b.readers, b.fused, b.options);
  b.builder->add_steps();
}

constexpr Row kRows[] = {
    // One spelling first, so that every later pass looks for one form.
    {"canonicalise", "aten", passes::canonicalise, nullptr, nullptr, "passes/canonicalise.txt",
     "defaults left out, operators without effect removed"},
    {"plain_batch_norm", "aten", passes::plain_batch_norm, nullptr, nullptr, "passes/plain_batch_norm.txt",
     "batch norm of training by cuDNN becomes PyTorch's own"},
    // It writes the running statistics: these writes become functional with all others.
    {"batch_norm", "aten", passes::batch_norm, nullptr, nullptr, "passes/batch_norm.txt",
     "batch norm of training written out"},
    // Below this line memory is written only where somebody else can see it.
    {"functionalise", "aten", passes::functionalise, nullptr, nullptr, "passes/functionalise.txt",
     "operators that write memory of the graph itself become functional"},
    {"uniform_bags", "decomposed", passes::uniform_bags, nullptr, nullptr, "passes/uniform_bags.txt",
     "bags of as many embeddings each become lookups and a sum"},
    {"short_bags", "decomposed", passes::short_bags, nullptr, nullptr, "passes/short_bags.txt",
     "the sum of a few rows of an embedding becomes as many lookups"},
    // Masks that were written are functional by now, and softmax is whole.
    {"fuse_attention", "decomposed", passes::fuse_attention, nullptr, nullptr, "passes/fuse_attention.txt",
     "attention that is written out becomes PyTorch's"},
    // Its mask may be a known one.
    {"known_mask", "decomposed", passes::known_masks, nullptr, nullptr, "passes/known_mask.txt",
     "a mask that leaves nothing out is left out, and one that leaves out what is to come is causal"},
    // The softmax that it is made of is written out below.
    {"one_row_attention", "decomposed", passes::one_row_attention, nullptr, nullptr,
     "passes/one_row_attention.txt", "attention of one query becomes sums, which fuse"},
    // Activations must be whole.
    {"linear_activation", "decomposed", passes::linear_activation, nullptr, nullptr,
     "passes/linear_activation.txt", "a linear layer and its activation become one library call"},
    {"library_gelu_f32", "decomposed", passes::library_gelu_f32, nullptr,
     [](const Settings& s) { return s.library_gelu_f32; }, "passes/library_gelu_f32.txt",
     "gelu gives NaN for infinity, as PyTorch's library does"},
    {"library_gelu_bf16", "decomposed", passes::library_gelu_bf16, nullptr,
     [](const Settings& s) { return s.library_gelu_bf16; }, "passes/library_gelu_bf16.txt",
     "gelu gives NaN for infinity, as PyTorch's library does"},
    {"library_gelu_f16", "decomposed", passes::library_gelu_f16, nullptr,
     [](const Settings& s) { return s.library_gelu_f16; }, "passes/library_gelu_f16.txt",
     "gelu gives NaN for infinity, as PyTorch's library does"},
    {"decompose", "decomposed", passes::decompose, nullptr, nullptr, "passes/decompose.txt",
     "composite operators written out"},
    // Sums that were written out just now, too.
    {"sums_of_one", "decomposed", passes::sums_of_one, nullptr, nullptr, "passes/sums_of_one.txt",
     "what is reduced over dims of one element becomes a loop"},
    // Each layer's mask is the same: what is made of them merges below.
    {"attention_mask", "decomposed", passes::attention_mask, nullptr, nullptr, "passes/attention_mask.txt",
     "a mask of truth values becomes the numbers that are added"},
    // Writing out repeats work (the mean of a variance, a cast): merge before counting uses.
    {"cse", "decomposed", passes::cse, nullptr, nullptr, "passes/cse.txt", "equal computations merged"},
    {"dce", "decomposed", passes::dce, nullptr, nullptr, "passes/dce.txt", "unused operators removed"},
    {"channels_last", "optimised", passes::channels_last, nullptr,
     [](const Settings& s) { return s.convolutions_tf32; }, "passes/channels_last.txt",
     "convolutions and what lies between them get their channels innermost"},
    {"depthwise_channels_last", "optimised", passes::depthwise_channels_last, nullptr,
     [](const Settings& s) { return s.infers; }, "passes/depthwise_channels_last.txt",
     "convolutions, those of each channel too, and what lies between them get their channels innermost"},
    {"half_channels_last", "optimised", passes::half_channels_last, nullptr, nullptr,
     "passes/half_channels_last.txt", "convolutions and what lies between them get their channels innermost"},
    {"convolution_relu", "optimised", passes::convolution_relu, nullptr,
     [](const Settings& s) { return s.graphs; }, "passes/convolution_relu.txt",
     "a convolution, its batch norm, a residual and relu become one library call"},
    {"image_windows", "optimised", passes::image_windows, nullptr, nullptr, "passes/image_windows.txt",
     "means of windows and repeated neighbours of images become loops"},
    {"rows_innermost", "optimised", passes::rows_innermost, nullptr, nullptr, "passes/rows_innermost.txt",
     "what lies transposed after a convolution and is added to rows lies as rows"},
    {"fold_views", "optimised", passes::fold_views, nullptr, nullptr, "passes/fold_views.txt",
     "chains of views shortened"},
    {"sums_of_products", "optimised", passes::sums_of_products, nullptr, nullptr,
     "passes/sums_of_products.txt", "the gradient of a weight used in many steps is a few products"},
    // A bias that is added to sums needs no splitting off.
    {"one_row_products", "optimised", passes::one_row_products, nullptr, nullptr,
     "passes/one_row_products.txt", "a product of one row becomes sums, which fuse"},
    {"few_row_products", "optimised", passes::few_row_products, nullptr,
     [](const Settings& s) { return s.matrices; }, "passes/few_row_products.txt",
     "a product of a few rows becomes sums, which fuse"},
    {"wide_bf16_products", "optimised", passes::wide_bf16_products, nullptr,
     [](const Settings& s) { return !s.multiplies_bf16; }, "passes/wide_bf16_products.txt",
     "products for which the CPU has no instructions are computed in f32"},
    {"wide_f16_products", "optimised", passes::wide_f16_products, nullptr,
     [](const Settings& s) { return !s.multiplies_f16; }, "passes/wide_f16_products.txt",
     "products for which the CPU has no instructions are computed in f32"},
    // Views must be short by now: the pass looks through them for a loop to fuse with.
    {"split_addmm_bias", "optimised", passes::split_addmm_bias, nullptr, nullptr,
     "passes/split_addmm_bias.txt", "the bias moves out of the library call, so that it can fuse"},
    {"split_convolution_bias", "optimised", passes::split_convolution_bias, nullptr, nullptr,
     "passes/split_convolution_bias.txt", "the bias moves out of the library call, so that it can fuse"},
    {"rows_in_place", "optimised", passes::rows_in_place, nullptr, nullptr, "passes/rows_in_place.txt",
     "the gradient of an embedding is added row by row to the other one of its weight"},
    {"pad_half_products", "optimised", passes::pad_half_products, nullptr, nullptr,
     "passes/pad_half_products.txt", "rows of large products begin at multiples of 16 bytes"},
    {"pad_f32_products", "optimised", passes::pad_f32_products, nullptr,
     [](const Settings& s) { return s.matrix_f32; }, "passes/pad_f32_products.txt",
     "rows of large products begin at multiples of 16 bytes"},
    // Equal computations merge above.
    {"rematerialise", "optimised", passes::rematerialise, nullptr,
     [](const Settings& s) { return s.forward_half; }, "passes/rematerialise.txt",
     "what backward can compute again from what is held anyway is not held"},
    {"dce", "optimised", passes::dce, nullptr, nullptr, "passes/dce.txt", "unused operators removed"},
    // What follows reads the graph and leaves it as it is.
    {"loops", "loops", nullptr, loops, nullptr, "loops", "loop nests of the operators",
     "kernels are made of loops"},
    {"add_in_place", "loops", nullptr, add_in_place, nullptr, "add_in_place",
     "a sum is added to where its other term lies"},
    {"recompute_small", "loops", nullptr, recompute_small, nullptr, "recompute",
     "what is small is computed again where it is read"},
    {"fuse", "fused", nullptr, fuse, nullptr, "fuse", "loop nests become kernels",
     "kernels are what it makes; options={\"fuse\": False} leaves every operator to PyTorch"},
    // Only what was measured to be faster in one kernel is joined.
    {"epilogue_fusion", "fused", nullptr, epilogue_fusion, nullptr, "epilogue_fusion",
     "a product and what follows it become one kernel"},
    {"horizontal_fusion", "fused", nullptr, horizontal_fusion, nullptr, "horizontal_fusion",
     "the same on other tensors becomes one kernel"},
    {"run_early", "fused", nullptr, run_early, [](const Settings& s) { return s.spares_memory; }, "run_early",
     "what frees memory runs early"},
    {"run_late", "fused", nullptr, run_late, nullptr, "fuse/run_late.txt",
     "what only holds memory runs late"},
    {"kernels", "kernels", nullptr, kernels, nullptr, "cpp", "kernels as text, and steps over buffers",
     "a program is what it makes"},
    {"shared_launches", "kernels", nullptr, shared_launches, nullptr, "shared_launches",
     "small kernels that need nothing of each other get one launch"},
};

}  // namespace

std::span<const Row> rows() {
  return kRows;
}

bool runs(const Row& row, const Settings& settings) {
  if (row.enabled && !row.enabled(settings)) return false;
  return !row.required.empty() ||
         std::find(settings.disabled.begin(), settings.disabled.end(), row.name) == settings.disabled.end();
}

std::string cannot_disable(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const Row& row = kRows[i];
    if (row.name == name && !row.required.empty())
      return std::string(name) + " cannot be switched off: " + std::string(row.required);
    if (row.name == name) return "";
    const bool again = std::any_of(kRows, kRows + i, [&](const Row& r) { return r.name == row.name; });
    if (row.required.empty() && !again) known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return "no pass is called " + std::string(name) + "; there are " + known;
}

}  // namespace vitrine::pipeline
