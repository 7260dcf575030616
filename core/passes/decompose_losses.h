// The loss of picked classes, over rows and over pictures. What is picked is picked before the arithmetic
// that made the scores, so that a log softmax need not be in memory.
#pragma once

#include "core/passes/writer.h"

namespace vitrine::passes {

Values nll_loss(Writer& w);
Values nll_loss_backward(Writer& w);

}  // namespace vitrine::passes
