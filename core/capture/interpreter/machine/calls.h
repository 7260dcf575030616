// Calls.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* call(Tracer& t, Value* function, Arguments arguments);
FunctionState function_state(Tracer& t, Value* function);
Value* call_function(Tracer& t, Value* function, Arguments arguments);  // a PyFunction constant, or Function
bool made_anew(const Tracer& t, const Value* v);
Value* call_module(Tracer& t, Value* v, Arguments arguments);
// The function behind a wrapper that matters to PyTorch's compiler only: what torch.compile returned, and
// what PyTorch keeps from its compiler in its own library (Optimizer.zero_grad, say). nullptr: it is none.
PyObject* wrapped_for_dynamo(PyObject* function);
// What stands at a path ("torch.optim.Optimizer.zero_grad"), or the function behind such a wrapper there;
// borrowed.
PyObject* find_unwrapped(const std::string& path);
Arguments spread(Tracer& t, Value* positional, Value* keyword);  // f(*a, **k)

}  // namespace vitrine::capture
