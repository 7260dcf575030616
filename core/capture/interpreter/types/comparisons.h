// Comparisons, `is`, `in`, truth and length, of any values.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

int64_t length(Tracer& t, Value* v);                    // of what it holds
Value* len(Tracer& t, Value* v);                        // len(v): what its class says
Value* compare(Tracer& t, int op, Value* a, Value* b);  // Py_LT ...
bool same(Tracer& t, Value* a, Value* b);               // a is b
bool equal(Tracer& t, Value* a, Value* b);              // a == b where it is a plain bool
bool same_or_equal(Tracer& t, Value* candidate, Value* item);
int64_t checked_length(Tracer& t, Value* v, PyObject* method);
bool contains(Tracer& t, Value* container, Value* item);
bool truth(Tracer& t, Value* v, const char* where = "data_dependent_branch");

}  // namespace vitrine::capture
