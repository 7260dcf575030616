// The matrix product as freestanding C++ with explicit vectors: a register-blocked tile over panels of the
// right factor, which are packed where they are used, as rows of the left may be. Nothing is kept between
// calls, so no write to a weight, however it is made, can go unseen. Sizes and strides are arguments: one
// text serves every shape. A convolution is the product of its weight and the windows of the image, which
// the packing gathers.
#pragma once

#include <cstdint>
#include <string>

#include "core/ir/sym.h"

namespace vitrine::codegen::cpp {

struct ProductTile {
  int lanes = 16;             // f32 values of a vector
  int rows = 8, vectors = 3;  // of sums that are held in registers
  bool packs = false;         // a's rows are packed too, if enough panels read them
  int columns() const { return lanes * vectors; }
};

// What stands at the ends of rows and columns. A kernel has code for that alone, which is half a second
// sooner compiled than code for every edge there is.
struct ProductEdges {
  bool four_rows = true, one_row = true;  // left when tiles of all rows are done
  int narrow = -1;     // vectors of the last panel, if it has fewer; 0: it has not, -1: any
  bool part = true;    // its last vector is no whole one
  bool beside = true;  // columns stand beside it
  bool operator==(const ProductEdges&) const = default;
};

struct ProductForm {
  bool bias = false;   // something is added to the product
  bool image = false;  // b's columns are windows of an image
  int after = 0;       // further arguments, of `after`: what follows the product in the same kernel
  bool held = false;   // b's panels are kept between calls; not of a batch
  bool packs = false;  // a's rows are packed too: chunks have at most kMostRows; not of an image
  ProductEdges edges;
};

// The kernel's last argument, in this order. Strides are counted in elements; those of a batch are by its
// outer and inner index (a convolution's image and group).
struct ProductNumbers {
  ir::Sym m = 0, n = 0, k = 0;
  ir::Sym a_row = 0, a_k = 0, b_k = 0, b_column = 0, c_row = 0;
  ir::Sym bias_row = 0, bias_column = 0;  // the latter is 0 or 1
  ir::Sym chunk = 1, chunks = 1;          // rows of a chunk, how many there are
  ir::Sym panels = 1;                     // of columns; the last may have up to kMostBeside more, if a_k is 1
  ir::Sym inner = 1;                      // of a batch
  ir::Sym a_outer = 0, a_inner = 0, b_outer = 0, b_inner = 0, c_outer = 0, c_inner = 0, bias_outer = 0,
          bias_inner = 0;
  // Image: b_k is a plane. k runs over channels and, inside, over the window's taps; n over places.
  ir::Sym height = 0, width = 0, out_width = 1, taps_x = 1, taps = 1, stride_y = 1, stride_x = 1, pad_y = 0,
          pad_x = 0, dilation_y = 1, dilation_x = 1;
  // Of winograd_text.h.
  ir::Sym tiles_x = 1, out_height = 1, run = 1, images = 1, batch = 1, scratch = 0;
};
inline constexpr size_t kProductNumbers = sizeof(ProductNumbers) / sizeof(ir::Sym);
inline constexpr int64_t kMostTaps = 64;   // of a window
inline constexpr int64_t kMostBeside = 4;  // columns beside the last panel
inline constexpr int64_t kDepth = 256;     // steps of the sum that a panel holds at a time
inline constexpr int64_t kMostRows = 256;  // that are packed: a quarter of a megabyte, on the stack

// What every such kernel begins with: its constants, and how sums are made and stored.
std::string product_tiles(const ProductTile& tile, const ProductForm& form);

// Values of all of b's panels, for ProductForm::held.
ir::Sym held_values(const ProductTile& tile, const ProductNumbers& at);

// c = a @ b, or c = bias + a @ b, all f32. Arguments: a, b, c, the bias if there is one, those of `after`,
// ProductNumbers; with form.held memory of held_values() too, and a pointer to an i64: whether b's panels
// stand there already, else the kernel puts them there. c has column stride 1. form.after > 0: the text of an
// Epilogue stands before this one. A work item is a panel of columns for a chunk of rows: for each of the
// batch, panels * chunks of them. Each sum runs over k in order, 256 terms at a time; those of the columns
// beside a panel in as many parts as a vector has lanes.
std::string product_text(const ProductTile& tile, const ProductForm& form);

}  // namespace vitrine::codegen::cpp
