// What a value is, for those who need less than the whole of it.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

PyTypeObject* type_of(Tracer& t, Value* v);   // guards the type only
PyObject* const_object(Tracer& t, Value* v);  // object of a Constant, nullptr for anything else
int64_t int_of(Tracer& t, Value* v, const char* what);
bool is_none(Tracer& t, Value* v);
std::string describe(Tracer& t, Value* v);  // for people: "f32[8,128]", "3", "list of 4"
// A real Python object equal to v, from constants only (deep); nullptr when v holds anything else.
PyObject* constant_tree(Tracer& t, Value* v);

}  // namespace vitrine::capture
