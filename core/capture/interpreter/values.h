// Making values.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

const Source* constant_source(Tracer& t, PyObject* object);

}  // namespace vitrine::capture
