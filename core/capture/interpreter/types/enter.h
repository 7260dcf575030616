// Containers that existed before the segment.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Values items_before(Tracer& t, Value* v);  // what stands in a tuple, a list or a deque from before
void materialise_container(Tracer& t, Value* v);

}  // namespace vitrine::capture
