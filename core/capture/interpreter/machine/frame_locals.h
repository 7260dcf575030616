// What locals() gives.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* locals_of_frame(Tracer& t);
}  // namespace vitrine::capture
