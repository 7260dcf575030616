// Floats that Python's random numbers are.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* draw(Tracer& t, Value* generator, const std::string& method, const Arguments& arguments);
void refuse_to_look(Tracer& t, const Value* drawn);

}  // namespace vitrine::capture
