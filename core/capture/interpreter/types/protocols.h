// isinstance() with a runtime-checkable typing.Protocol.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

bool is_protocol(PyObject* cls);
bool is_of_protocol(Tracer& t, Value* v, PyObject* protocol);
}  // namespace vitrine::capture
