// Floats that may be others in the next call (a learning rate).
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* symbolic_float(Tracer& t, Value* v);  // nullptr: it is none
void specialise_float(Tracer& t, Value* v);
Value* computed_float(Tracer& t, PyObject* now, Value* tensor, const Values& from, PyObject* parts);
Value* float_binary(Tracer& t, const std::string& name, bool in_place, Value* a, Value* b);
Value* float_beside_tensor(Tracer& t, const std::string& comparison, Value* a, Value* b);
Value* float_negated(Tracer& t, Value* a);
Value* with_symbolic_floats(Tracer& t, Value* self, const std::string& name, PyObject* callable,
                            const Arguments& a);

}  // namespace vitrine::capture
