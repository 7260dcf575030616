// Looking at values.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* resolve(Value* v);  // follows aliases without inspecting
Value* cell_get(Tracer& t, Value* cell);
void cell_set(Tracer& t, Value* cell, Value* value);
void materialise(Tracer& t, Value* v);

}  // namespace vitrine::capture
