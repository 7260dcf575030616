// Questions about PyTorch's state and about tensors, answered at capture.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* literal(Tracer& t, PyObject* maker, const Arguments& arguments);  // torch.tensor([1, 2])

}  // namespace vitrine::capture
