// torch.autograd.Function.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* apply_function(Tracer& t, PyObject* builtin, const Arguments& arguments);

}  // namespace vitrine::capture
