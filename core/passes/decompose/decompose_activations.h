// Activations that are made of others, or of halves of a tensor.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

OutputValues celu(NodeWriter& w);
OutputValues glu(NodeWriter& w);
OutputValues glu_backward(NodeWriter& w);
OutputValues log_sigmoid_forward(NodeWriter& w);

}  // namespace vitrine::passes
