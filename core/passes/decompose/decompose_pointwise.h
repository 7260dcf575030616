// Element-wise operators whose arithmetic depends on an argument that is no number: a word, or nothing.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

OutputValues divide_rounded(NodeWriter& w);
OutputValues nan_to_num(NodeWriter& w);
OutputValues logit(NodeWriter& w);
OutputValues logit_backward(NodeWriter& w);

}  // namespace vitrine::passes
