// Tensors row by row, and as a program lays them out.
#pragma once

#include "core/ir/types.h"

namespace vitrine::package {

bool is_row_by_row(const ir::TensorType& type);  // so that both are the same
void scatter_rows(const ir::TensorType& type, const void* rows, void* to);
void gather_rows(const ir::TensorType& type, const void* from, void* rows);

}  // namespace vitrine::package
