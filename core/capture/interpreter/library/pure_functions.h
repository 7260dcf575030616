// Functions that only read what they are given, and give the same for the same.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// nullptr: no function known to be pure.
Value* call_pure_function(Tracer& t, PyObject* callable, const Arguments& a);
bool is_of_regular_expressions(PyObject* o);  // a re.Pattern or a re.Match
bool is_regular_expression(const Value* v);   // such an object
// Calls `callable` for real on constant arguments; ends the segment when one is not constant.
Value* fold_call(Tracer& t, PyObject* callable, const Arguments& a);
PyObject* known_object(Tracer& t, Value* v);  // the object itself, which is guarded; borrowed

}  // namespace vitrine::capture
