// Python's own builtins.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// v.name as getattr() with a default asks for it: nullptr where Python says AttributeError.
Value* attribute_if_any(Tracer& t, Value* v, const std::string& name);

}  // namespace vitrine::capture
