// The mean of each window of an image, as sums of its slices.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

constexpr int64_t kMostTaps = 9;  // elements of a window; one of more stays PyTorch's

// The two numbers of an argument that may be one for both.
Dims both_sides(const NodeWriter& w, size_t argument);

// x[:, :, i + by * row, j + by * column] for each place of the node's result, (batch, channels, rows,
// columns).
Ref window_tap(NodeWriter& w, Ref x, const Dims& at, const Dims& by);

// In eager's order, row by row, and as wide as it adds up. nullopt: windows of one element, or of many.
OutputValues mean_of_windows(NodeWriter& w, Ref x, const Dims& window, const Dims& by);

}  // namespace vitrine::passes
