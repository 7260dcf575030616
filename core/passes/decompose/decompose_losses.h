// The loss of picked classes, over rows and over pictures. What is picked is picked before the arithmetic
// that made the scores, so that a log softmax need not be in memory.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

Values nll_loss(Writer& w);
Values nll_loss_backward(Writer& w);
Values mse_loss(Writer& w);
Values smooth_l1_loss(Writer& w);
Values huber_loss(Writer& w);
Values soft_margin_loss(Writer& w);
Values binary_cross_entropy_with_logits(Writer& w);

}  // namespace vitrine::passes
