// Attribute reads, with Python's own rules.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* get_attr(Tracer& t, Value* v, const std::string& name);   // nullptr = AttributeError
Value* load_attr(Tracer& t, Value* v, const std::string& name);  // raises AttributeError
// object.__getattribute__ (+ __getattr__)
Value* generic_get(Tracer& t, Value* v, const std::string& name, bool fallback);
Value* ask_getattr(Tracer& t, Value* v, const std::string& name);
void check_plain_attributes(Tracer& t, Value* v, const char* method);
Value* instance_get(Tracer& t, Value* v, const std::string& name);  // own attribute, nullptr = none
Value* instance_dict(Tracer& t, Value* v);                          // v.__dict__
Value* known_own_dict(Tracer& t, Value* v);
void check_own_dict(Tracer& t, Value* v);
// The function that `type` gives for a special method when it is Python code, else nullptr.
PyObject* python_method(Tracer& t, PyTypeObject* type, const char* name);
Value* call_special(Tracer& t, Value* v, PyObject* function, Values arguments);
// v.name(arguments...) where v is an object whose class says so in Python; nullptr: it does not.
Value* own_method(Tracer& t, Value* v, const char* name, Values arguments = {});

}  // namespace vitrine::capture
