// Iterators that existed before the segment.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

void count_step(Tracer& t, Value* v);
Value* set_in_order(Tracer& t, Value* set);
void materialise_iterator(Tracer& t, Value* v);

}  // namespace vitrine::capture
