// What a training step does beside tensor arithmetic.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* read_grad(Tracer& t, Value* v);
void write_grad(Tracer& t, Value* v, Value* value);
// nullptr: it is not
Value* scaled_by_tensor(Tracer& t, Value* self, const std::string& name, const Arguments& a);

}  // namespace vitrine::capture
