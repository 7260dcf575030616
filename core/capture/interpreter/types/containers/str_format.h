// "{0.shape} {name:>{width}}".format(...).
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* format_text(Tracer& t, PyObject* form, const Arguments& arguments);  // form.format(...)

}  // namespace vitrine::capture
