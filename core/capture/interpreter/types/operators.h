// Operators with one or two operands.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// "add", "iadd", ...: names of module operator
Value* binary(Tracer& t, const std::string& op, Value* a, Value* b);
Value* unary(Tracer& t, const std::string& op, Value* a);

}  // namespace vitrine::capture
