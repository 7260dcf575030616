// Floats that Python computes from a single one that changes.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* pythons_float(Tracer& t, PyObject* function, const Values& arguments);
Value* derived_float(Tracer& t, PyObject* function, const Values& arguments);
PyObject* derived_parts(Tracer& t, PyObject* function, const Values& arguments);
const Source* derived_source(Tracer& t, Value* root, PyObject* parts);
bool enter_derived_float(Tracer& t, Value* v);
Value* float_compare(Tracer& t, int op, Value* a, Value* b);

}  // namespace vitrine::capture
