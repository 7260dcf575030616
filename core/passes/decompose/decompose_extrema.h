// Where the largest or smallest element is, as reductions: the extremum, then the first place that has it.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

OutputValues largest_along(NodeWriter& w);   // max.dim
OutputValues smallest_along(NodeWriter& w);  // min.dim
OutputValues largest_place(NodeWriter& w);   // argmax
OutputValues smallest_place(NodeWriter& w);  // argmin

}  // namespace vitrine::passes
