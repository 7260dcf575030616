// Products of few rows: what a schedule's sums are where each adds up products of two tensors of 16 bits, a
// row of one of 2 to 16 rows times a row of a matrix. Tensor cores multiply 16 rows of the matrix by 8 of
// these at a time, so that the matrix is read once.
#pragma once

#include <optional>
#include <vector>

#include "core/codegen/cuda/gpu.h"
#include "core/codegen/cuda/shape.h"

namespace vitrine::codegen::cuda {

struct FewRows {
  struct Sum {
    int value = -1;   // of the schedule
    size_t few = 0;   // which of `fews` it multiplies
    int matrix = -1;  // load that moves along the columns of the product
  };
  std::vector<Sum> sums;  // all over the same rows and columns
  std::vector<int> fews;  // loads that move along the rows
  int64_t rows = 2;       // at most 16
  ir::Sym columns = 1;    // of the product, rows of the matrices
  ir::Sym inner = 1;

  // Tiles of eight rows.
  int64_t eights() const { return (rows + 7) / 8; }
  // Runs that a lane has of a step: two of each matrix, then one of each eight of the few rows.
  int64_t first_run_of(size_t few) const {
    return 2 * static_cast<int64_t>(sums.size()) + static_cast<int64_t>(few) * eights();
  }
  int64_t runs() const { return first_run_of(fews.size()); }
};

// nullopt: something else is summed, or computed along the way; the tensors do not lie in runs of eight.
std::optional<FewRows> few_rows(const Schedule& schedule);

// A block's columns, its warps, and how many steps of these are under way at once.
LaunchShape few_rows_shape(const FewRows& product, const Gpu& gpu);
// Shared memory of what the warps of a block have of one sum.
int64_t few_rows_sum_bytes(const FewRows& product, const LaunchShape& shape);

}  // namespace vitrine::codegen::cuda
