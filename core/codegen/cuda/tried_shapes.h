// The shapes of a GPU's kernel between which only a measurement can tell.
#pragma once

#include <string>
#include <vector>

#include "core/codegen/cuda/shape.h"

namespace vitrine::codegen::cuda {

// choose_shape()'s first, then others that compute the same: more or fewer threads, runs a thread and
// neighbours an access.
std::vector<LaunchShape> tried_shapes(const Schedule& schedule, const Gpu& gpu = {});
std::string shape_text(const LaunchShape& shape);  // "128 threads x 2 runs of 4, 32 a row"

}  // namespace vitrine::codegen::cuda
