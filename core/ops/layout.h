// Memory layout as PyTorch's CPU kernels choose it: which strides an element-wise result gets, what a memory
// format means, whether a view of other sizes exists.
#pragma once

#include "core/ops/call.h"

namespace vitrine::ops {

bool is_channels_last(const TensorType& t);        // exactly NHWC contiguous
bool suggests_channels_last(const TensorType& t);  // strides rank as NHWC: what convolution goes by
TensorType rows_as_images(TensorType rows);  // (n, channels, w) as (n, channels, 1, w), as convolution does
bool is_dense(const TensorType& t);          // non-overlapping and dense
Dims channels_last_strides(const Dims& sizes);  // 4-d
// Strides of torch.empty_like(t), memory format preserved.
Dims preserved_strides(const TensorType& t);
// Strides for a new tensor under a memory format word; "" means contiguous, preserve needs `like`.
Dims format_strides(const std::string& format, const Dims& sizes, const TensorType* like);

Dims broadcast(const Dims& a, const Dims& b);
// Sizes and strides of the output of an element-wise operator over these operands. An operand whose type is
// not `common` is converted first, which makes a non-dense one dense. A Python number is a 0-d operand.
TensorType elementwise(std::vector<TensorType> operands, DType common, DType output);

// Strides of a view with other sizes, if there is one.
std::optional<Dims> view_strides(const TensorType& t, const Dims& sizes);
// Sizes with one -1 filled in.
Dims infer_sizes(Dims sizes, const Sym& numel);
// What lies below low is low, what lies above high is high.
Sym clamped(const Sym& value, const Sym& low, const Sym& high);

}  // namespace vitrine::ops
