// torch.func.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

void check_not_differentiated(Tracer& t, const char* question);

}  // namespace vitrine::capture
