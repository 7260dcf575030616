// A matrix in a GPU's memory as its copy engine reads it: a tile at a time, with zeros behind its ends.
#pragma once

#include <cstdint>

#include "core/ir/types.h"

namespace vitrine::codegen {

// Sizes and steps are numbers of elements. The pointer and the steps are multiples of 16 bytes, and a row of
// a tile has at most 128.
struct TensorMap {
  int32_t argument = 0;  // of the kernel: it gets the map of that pointer, by value
  ir::DType dtype = ir::DType::bf16;
  int64_t along = 1, rows = 1, images = 1;  // in one piece; further apart; as many matrices
  int64_t row_step = 1, image_step = 1;     // from one to the next
  int32_t tile_along = 1, tile_rows = 1;    // of one copy
  bool operator==(const TensorMap&) const = default;
};

}  // namespace vitrine::codegen
