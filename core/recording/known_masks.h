// Attention whose mask is known (core/passes/attention/known_mask.h) is called without it while it is
// recorded, so that PyTorch chooses among its kernels, and among their backwards, as it does where there is
// no mask.
#pragma once

#include "core/recording/recording.h"

namespace vitrine::torch_api {

struct AttentionCall {
  PyRef args, kwargs;  // kwargs may be null
};

// The arguments of torch.nn.functional.scaled_dot_product_attention (tensors: the recording's fake tensors)
// with a known mask left out; as they are where there is none.
AttentionCall without_known_mask(Recording& recording, PyObject* args, PyObject* kwargs);

}  // namespace vitrine::torch_api
