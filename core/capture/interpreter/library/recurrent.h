// Recurrent layers.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

void refuse_long_recurrence(Tracer& t, const std::string& name, const Arguments& a, size_t operators);

}  // namespace vitrine::capture
