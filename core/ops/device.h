// On which device an operator's results are: shape rules speak of sizes and strides only.
#pragma once

#include "core/ops/table.h"

namespace vitrine::ops {

// The device that a call computes on: what its `device` argument says, else where the tensor is that it
// writes, else where its tensors are (0-d tensors on the CPU go along with any). Error: they disagree, or the
// device is of a kind that is not compiled.
Result<ir::Device> device_of(const OpRow& row, const ShapeCall& call);

// The row's shape rule, with devices. Errors: the rule's, and device_of's.
Result<std::vector<ir::TensorType>> types_of(const OpRow& row, const ShapeCall& call);

}  // namespace vitrine::ops
