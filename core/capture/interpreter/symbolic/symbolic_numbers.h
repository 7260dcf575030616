// When a tensor of no dims, a f64 on the CPU, may stand for a number.
#pragma once

#include "core/capture/objects/python.h"
#include "core/ir/graph.h"

namespace vitrine::capture {

// A float, or an int that is exact as one.
bool is_exact_number(PyObject* o);

// A tensor of f32 that has no dims, which a tensor of f64 would make f64.
bool is_single(const ir::TensorType& type);

// A tensor by which one may stand for a number: the result's type is that of the tensor alone, and the number
// is converted to it first, on a GPU too. Beside one that is_single() it must be f32 itself.
bool takes_number(const ir::TensorType& type);

}  // namespace vitrine::capture
