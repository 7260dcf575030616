// Normalisations' backward, RMS and group norm: the gradient of the input by rows, those of weight and bias
// by columns, from the same elements.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

Values layer_norm_backward(Writer& w);
Values group_norm(Writer& w);
Values rms_norm(Writer& w);
Values rms_norm_backward(Writer& w);
Values batch_norm_backward(Writer& w);
Values cudnn_batch_norm_backward(Writer& w);

}  // namespace vitrine::passes
