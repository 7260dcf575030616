// Element-wise operators whose arithmetic depends on an argument that is no number: a word, or nothing.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

Values divide_rounded(Writer& w);
Values nan_to_num(Writer& w);
Values logit(Writer& w);
Values logit_backward(Writer& w);

}  // namespace vitrine::passes
