// Hooks on gradients of tensors that the program computes.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* register_hook(Tracer& t, Value* tensor, const Arguments& arguments);

}  // namespace vitrine::capture
