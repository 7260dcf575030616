// Calls.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* call(Tracer& t, Value* function, Arguments arguments);
FunctionState function_state(Tracer& t, Value* function);
Value* call_function(Tracer& t, Value* function, Arguments arguments);  // a PyFunction constant, or Function
bool made_anew(const Tracer& t, const Value* v);
Value* call_module(Tracer& t, Value* v, Arguments arguments);
Arguments spread(Tracer& t, Value* positional, Value* keyword);  // f(*a, **k)

}  // namespace vitrine::capture
