// Generators made in the segment.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// nullptr: other
Value* generator_method(Tracer& t, Value* generator, const std::string& name, const Arguments& a);
Value* generator_of(Value* v);  // the Generator that v is or walks, or nullptr
void check_generators(Tracer& t);
[[noreturn]] void raise_stop_iteration(Tracer& t, Value* returned);
// nullptr = finished; `returned` (may be null) receives what its return gave.
Value* resume(Tracer& t, Value* generator, Value* sent, Value** returned = nullptr);

}  // namespace vitrine::capture
