// Output types of an operator without a shape rule, by running PyTorch's own kernel on zeros (exact strides,
// no import of its Python meta kernels), or its meta kernel where that is too large or not possible.
#pragma once

#include <optional>
#include <vector>

#include "core/torch_api/overload.h"

namespace vitrine::torch_api {

struct FallbackArg {
  PyObject* object = nullptr;                  // borrowed; traced tensors inside are replaced
  std::vector<const ir::TensorType*> tensors;  // their types, in order
};

struct FallbackResult {
  PyRef value;  // what it returned, real or meta tensors inside; null: a Python error is set, the user's
  bool resized = false;              // it changed the size of a written argument
  bool aliased = false;              // it returned a view of an argument although its schema does not say so
  std::optional<ir::Device> device;  // meta kernels ran: where the results would be
};
FallbackResult run_for_types(const Overload& op, const std::vector<FallbackArg>& args);

// Whether PyTorch's kernel takes tensors of a GPU and of the CPU together, of which no schema speaks: some
// operators take a 0-d tensor of the CPU, in some places. One element a tensor is tried, so this answers for
// operators without other demands on sizes than that they broadcast. False: the Python error is set.
// Where that GPU is not here, whatever shape rules allow passes for true.
bool take_together(const Overload& op, const std::vector<FallbackArg>& args);

}  // namespace vitrine::torch_api
