// The loss of picked classes, over rows and over pictures. What is picked is picked before the arithmetic
// that made the scores, so that a log softmax need not be in memory.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

OutputValues nll_loss(NodeWriter& w);
OutputValues nll_loss_backward(NodeWriter& w);
OutputValues mse_loss(NodeWriter& w);
OutputValues smooth_l1_loss(NodeWriter& w);
OutputValues huber_loss(NodeWriter& w);
OutputValues soft_margin_loss(NodeWriter& w);
OutputValues binary_cross_entropy_with_logits(NodeWriter& w);

}  // namespace vitrine::passes
