#include "core/passes/pipeline.h"

#include "core/passes/cleanup/canonicalise.h"
#include "core/passes/cleanup/cse.h"
#include "core/passes/cleanup/dce.h"
#include "core/passes/cleanup/functionalise.h"
#include "core/passes/cleanup/rematerialise.h"
#include "core/passes/decompose/batch_norm.h"
#include "core/passes/decompose/decompose.h"
#include "core/passes/layout/channels_last.h"
#include "core/passes/layout/fold_views.h"
#include "core/passes/layout/rows_in_place.h"
#include "core/passes/layout/rows_innermost.h"
#include "core/passes/library_calls/attention_mask.h"
#include "core/passes/library_calls/convolution_relu.h"
#include "core/passes/library_calls/known_mask.h"
#include "core/passes/library_calls/library_gelu.h"
#include "core/passes/library_calls/linear_activation.h"
#include "core/passes/library_calls/pad_products.h"
#include "core/passes/library_calls/split_addmm_bias.h"

namespace vitrine::passes {

namespace {

constexpr Pass kPipeline[] = {
    // One spelling first, so that every later pass looks for one form.
    {"canonicalise", "aten", canonicalise, "defaults left out, operators without effect removed"},
    // It writes the running statistics: these writes become functional with all others.
    {"batch_norm", "aten", batch_norm, "batch norm of training written out"},
    // Below this line memory is written only where somebody else can see it.
    {"functionalise", "aten", functionalise,
     "operators that write memory of the graph itself become functional"},
    // Masks that were written are functional by now.
    {"known_mask", "decomposed", known_masks,
     "a mask that leaves nothing out is left out, and one that leaves out what is to come is causal"},
    // Activations must be whole.
    {"linear_activation", "decomposed", linear_activation,
     "a linear layer and its activation become one library call"},
    {"library_gelu_f32", "decomposed", library_gelu_f32,
     "gelu gives NaN for infinity, as PyTorch's library does"},
    {"library_gelu_bf16", "decomposed", library_gelu_bf16,
     "gelu gives NaN for infinity, as PyTorch's library does"},
    {"library_gelu_f16", "decomposed", library_gelu_f16,
     "gelu gives NaN for infinity, as PyTorch's library does"},
    {"decompose", "decomposed", decompose, "composite operators written out"},
    // Each layer's mask is the same: what is made of them merges below.
    {"attention_mask", "decomposed", attention_mask,
     "a mask of truth values becomes the numbers that are added"},
    // Writing out repeats work (the mean of a variance, a cast): merge before counting uses.
    {"cse", "decomposed", cse, "equal computations merged"},
    {"dce", "decomposed", dce, "unused operators removed"},
    {"channels_last", "optimised", channels_last,
     "convolutions and what lies between them get their channels innermost"},
    {"half_channels_last", "optimised", half_channels_last,
     "convolutions and what lies between them get their channels innermost"},
    {"convolution_relu", "optimised", convolution_relu,
     "a convolution, its batch norm, a residual and relu become one library call"},
    {"rows_innermost", "optimised", rows_innermost,
     "what lies transposed after a convolution and is added to rows lies as rows"},
    {"fold_views", "optimised", fold_views, "chains of views shortened"},
    // Views must be short by now: the pass looks through them for a loop to fuse with.
    {"split_addmm_bias", "optimised", split_addmm_bias,
     "the bias moves out of the library call, so that it can fuse"},
    {"rows_in_place", "optimised", rows_in_place,
     "the gradient of an embedding is added row by row to the other one of its weight"},
    {"pad_half_products", "optimised", pad_half_products,
     "rows of large products begin at multiples of 16 bytes"},
    {"pad_f32_products", "optimised", pad_f32_products,
     "rows of large products begin at multiples of 16 bytes"},
    // Equal computations merge above.
    {"rematerialise", "optimised", rematerialise,
     "what backward can compute again from what is held anyway is not held"},
    {"dce", "optimised", dce, "unused operators removed"},
};

}  // namespace

std::span<const Pass> pipeline() {
  return kPipeline;
}

}  // namespace vitrine::passes
