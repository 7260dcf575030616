// Normalisations' backward, RMS and group norm: the gradient of the input by rows, those of weight and bias
// by columns, from the same elements.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

OutputValues layer_norm_backward(NodeWriter& w);
OutputValues group_norm(NodeWriter& w);
OutputValues rms_norm(NodeWriter& w);
OutputValues rms_norm_backward(NodeWriter& w);
OutputValues batch_norm_backward(NodeWriter& w);
OutputValues cudnn_batch_norm_backward(NodeWriter& w);

}  // namespace vitrine::passes
