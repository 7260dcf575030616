// Fake tensors whose sizes are expressions: to PyTorch tensors of its meta device with SymInts for sizes,
// which say that they are on the CPU or a GPU. They have no memory at all.
#pragma once

#include <optional>

#include "core/torch_api/bridge.h"
#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

// Strides that follow from the type's sizes, where those that it has are the hints of such: of a tensor
// without gaps in some order of its dims.
std::optional<ir::Dims> dense_strides(const ir::TensorType& type);
// The same, else those that it has.
ir::Dims strides_by_sizes(const ir::TensorType& type);
// On memory of its own. Throws InternalError where PyTorch makes none.
PyRef symbolic_tensor(const ir::TensorType& type);
// On the memory of `base`, a fake tensor of either kind; of no autograd graph, as below it.
PyRef symbolic_view(_object* base, const ir::TensorType& type);
// That which an operator of PyTorch's makes of it alone, one that takes expressions for sizes.
PyRef symbolic_view_by(_object* op, _object* base);
// The tensor itself is another view of its memory from now on.
void symbolic_reshape(_object* tensor, const ir::TensorType& type);
// The type of a fake tensor of either kind, expressions and all.
ir::TensorType symbolic_type(_object* tensor);

}  // namespace vitrine::torch_api
