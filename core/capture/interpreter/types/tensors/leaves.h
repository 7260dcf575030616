// Tensors as autograd and modules know them.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* set_requires_grad(Tracer& t, Value* tensor, bool on);  // gives the tensor
Value* new_parameter(Tracer& t, const Arguments& arguments);
Value* data_of(Tracer& t, Value* tensor);
Value* autograd_fact(Tracer& t, Value* tensor, const std::string& name);  // is_leaf, grad_fn
std::vector<Effect> version_effects(Tracer& t, class RecipeMaker& make);
void set_tensor_attr(Tracer& t, Value* tensor, const std::string& name, Value* value);

}  // namespace vitrine::capture
