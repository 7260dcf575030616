// Keys of dicts and elements of sets.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Py_hash_t hash_told(PyObject* number);        // what hash() makes of what a __hash__() gave
PyObject* key_object(Tracer& t, Value* key);  // what a real dict would hash; breaks on values without one
bool same_key(Tracer& t, PyObject* a, PyObject* b);  // of what key_object() gave
void check_own_keys(Tracer& t, bool from_before, const Values& keys, Value* key);
void check_own_keys(Tracer& t, Value* dict, Value* key);

}  // namespace vitrine::capture
