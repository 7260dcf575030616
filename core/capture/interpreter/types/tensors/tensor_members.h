// Attributes and methods of tensors.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* tensor_attr(Tracer& t, Value* v, const std::string& name);
Value* tensor_method(Tracer& t, Value* self, const std::string& name, PyObject* callable,
                     Arguments arguments);
// What a method of a tensor that reads its value (item, __index__, ...) gives, where the value is known at
// capture; nullptr: it is not.
Value* known_number(Tracer& t, Value* tensor, const char* method = "item");

}  // namespace vitrine::capture
