// Means of windows and pictures of fewer places, as sums and slices.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

Values avg_pool2d(Writer& w);
Values adaptive_avg_pool2d(Writer& w);
Values upsample_nearest2d(Writer& w);

}  // namespace vitrine::passes
