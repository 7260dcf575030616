// How a call finds the row of a builtin, and refuses arguments that CPython refuses.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* call_builtin(Tracer& t, PyObject* callable, const Arguments& arguments, bool* known);
void check_accepted(Tracer& t, PyObject* callable, size_t positional, const Arguments& arguments);

}  // namespace vitrine::capture
