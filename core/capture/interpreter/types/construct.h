// cls(...): instances.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* weak_reference(Tracer& t, Value* target);
bool is_weak_reference(const Value* v);  // one made here
Value* target_of(Tracer& t, const Value* reference);
Value* construct(Tracer& t, PyTypeObject* cls, Arguments arguments);
Value* construct_plain(Tracer& t, PyTypeObject* cls, Arguments arguments);  // past the metaclass's __call__

}  // namespace vitrine::capture
