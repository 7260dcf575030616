// What a class holds under a name, read through an instance or through the class.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* bind_descriptor(Tracer& t, PyObject* descriptor, Value* self, PyTypeObject* type,
                       const std::string& name);

}  // namespace vitrine::capture
