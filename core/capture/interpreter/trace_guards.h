// The guards of a trace.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

void pin_type(Tracer& t, PyTypeObject* type);  // guards that the class does not change
// That it is this object, without keeping it: what no recipe holds may die with the program's own.
void guard_weakly(Tracer& t, const Source* source, PyObject* object, const std::string& expected);
void guard_length(Tracer& t, Value* v);
void guard_length_before(Tracer& t, const Value* v, size_t n);  // of what stood in it when the segment began
void guard_type(Tracer& t, Value* v);

}  // namespace vitrine::capture
