// Literals of symbolic numbers.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// torch.tensor of numbers some of which are open; nullptr: of none that is, or of others.
Value* tensor_of_symbolic_numbers(Tracer& t, const Arguments& a);
}  // namespace vitrine::capture
