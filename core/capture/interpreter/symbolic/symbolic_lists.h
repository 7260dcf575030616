// Lists from before the segment that a program only adds to (the losses so far).
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// nullptr: no such list, or something asks for what stands in it.
Value* symbolic_list(Tracer& t, Value* v);
Value* method_of_symbolic_list(Tracer& t, Value* v, const std::string& name);
Value* add_to_symbolic_list(Tracer& t, PyObject* method, const Arguments& a);
Value* extend_symbolic_list(Tracer& t, Value* list, Value* by);
void specialise_list(Tracer& t, Value* v);

}  // namespace vitrine::capture
