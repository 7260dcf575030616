// Calls of functions that PyTorch's own controls have marked.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// What a function gives that torch.compiler.assume_constant_result marks: it is called now, and not again.
Value* constant_result(Tracer& t, PyObject* function, const Arguments& a);

// A call of what torch.compiler.allow_in_graph or torch._dynamo.nonstrict_trace marks: one of the recording.
Value* allowed_call(Tracer& t, PyObject* function, const Arguments& a);

}  // namespace vitrine::capture
