// Backward passes as part of the graph.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* tensor_backward(Tracer& t, const Arguments& a);
void guard_leaf(Tracer& t, const std::string& name, Value* leaf);

}  // namespace vitrine::capture
