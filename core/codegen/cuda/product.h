// Products of few rows: what a schedule's sums are where each adds up products of two tensors of 16 bits, a
// row of one of at most 16 rows times a row of a matrix. Tensor cores multiply 16 rows of the matrix by 8 of
// these at a time, so that the matrix is read once.
#pragma once

#include <optional>
#include <vector>

#include "core/codegen/cuda/gpu.h"
#include "core/codegen/cuda/shape.h"

namespace vitrine::codegen::cuda {

struct FewRows {
  struct Sum {
    int value = -1;             // of the schedule
    int few = -1, matrix = -1;  // loads: moves along the rows; along the columns of the product
  };
  std::vector<Sum> sums;  // all over the same rows and columns
  int64_t rows = 1;       // at most 16
  ir::Sym columns = 1;    // of the product, rows of the matrices
  ir::Sym inner = 1;
};

// nullopt: something else is summed, or computed along the way; the tensors do not lie in runs of eight.
std::optional<FewRows> few_rows(const Schedule& schedule);

// A block's columns, its warps, and how many steps of these are under way at once.
LaunchShape few_rows_shape(const FewRows& product, const Gpu& gpu);
// Shared memory of what the warps of a block have of one sum.
int64_t few_rows_sum_bytes(const FewRows& product, const LaunchShape& shape);

}  // namespace vitrine::codegen::cuda
