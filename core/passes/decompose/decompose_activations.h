// Activations that are made of others, or of halves of a tensor.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

Values celu(Writer& w);
Values glu(Writer& w);
Values glu_backward(Writer& w);
Values log_sigmoid_forward(Writer& w);

}  // namespace vitrine::passes
