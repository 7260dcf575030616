// Whether the slots of the frame hold values.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// the program asks whether a local has a value
void guard_bound(Tracer& t, const VirtualFrame& frame, int slot);
void guard_empty_stack(Tracer& t);

}  // namespace vitrine::capture
