// Output types of an operator without a shape rule, by running PyTorch's own kernel on zeros (exact strides,
// no import of its Python meta kernels), or its meta kernel where that is too large or not possible.
#pragma once

#include <vector>

#include "core/torch_bridge/overload.h"

namespace vitrine::torch_bridge {

struct FallbackArg {
  PyObject* object = nullptr;                  // borrowed; traced tensors inside are replaced
  std::vector<const ir::TensorType*> tensors;  // their types, in order
};

// Runs it on tensors of the same types. New reference to what it returned (real or meta tensors inside), or a
// null object with a Python error set: the user's error. `resized`: it changed the size of a written
// argument.
Py run_for_types(const Overload& op, const std::vector<FallbackArg>& args, bool& resized);

}  // namespace vitrine::torch_bridge
