// Python's own builtins.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// v.name as getattr() with a default asks for it: nullptr where Python says AttributeError.
Value* attribute_if_any(Tracer& t, Value* v, const std::string& name);
Value* call_builtin(Tracer& t, PyObject* callable, const Arguments& arguments, bool* known);
void check_accepted(Tracer& t, PyObject* callable, size_t positional, const Arguments& arguments);

}  // namespace vitrine::capture
