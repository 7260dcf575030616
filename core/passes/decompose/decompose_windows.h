// Means of windows and pictures of fewer places, as sums and slices.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

OutputValues avg_pool2d(NodeWriter& w);
OutputValues adaptive_avg_pool2d(NodeWriter& w);
OutputValues upsample_nearest2d(NodeWriter& w);

}  // namespace vitrine::passes
