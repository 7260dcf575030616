// Floats that sizes give.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* size_float_compare(Tracer& t, int op, Value* a, Value* b);
Value* size_float(Tracer& t, PyObject* function, const Values& arguments);
Value* float_of_size(Tracer& t, Value* size);
Value* size_integer(Tracer& t, const std::string& function, Value* number);
Value* integer_of_sizes(Tracer& t, PyObject* function, const Values& arguments);
bool enter_size_float(Tracer& t, Value* v);
void fix_size_float(Tracer& t, Value* v);
std::string size_float_text(Tracer& t, Value* v);

}  // namespace vitrine::capture
