// The matrix product as freestanding C++ with explicit vectors: a register-blocked tile over panels of the
// right factor, which are packed where they are used. Nothing is kept between calls, so no write to a weight,
// however it is made, can go unseen. Sizes and strides are arguments: one text serves every shape.
#pragma once

#include <string>

namespace vitrine::codegen::cpp {

struct ProductTile {
  int lanes = 16;             // f32 values of a vector
  int rows = 8, vectors = 3;  // of sums that are held in registers
  int columns() const { return lanes * vectors; }
};

// What the registers of a machine with such vectors hold.
ProductTile product_tile(int lanes);

// c = a @ b, or c = bias + a @ b, all f32. Arguments: a, b, c, the bias if there is one, and int64 numbers:
//   m n k, a's strides (row, k), b's (k, column), c's row stride, the bias's row stride, rows of a chunk,
//   chunks.
// c and the bias have column stride 1. A work item is a panel of columns for a chunk of rows:
// ceil(n / columns()) * chunks of them. Each sum runs over k in order, 256 terms at a time.
std::string product_text(const ProductTile& tile, bool bias);

}  // namespace vitrine::codegen::cpp
