// Where the largest or smallest element is, as reductions: the extremum, then the first place that has it.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

Values largest_along(Writer& w);   // max.dim
Values smallest_along(Writer& w);  // min.dim
Values largest_place(Writer& w);   // argmax
Values smallest_place(Writer& w);  // argmin

}  // namespace vitrine::passes
