// A convolution with a window of 3 x 3, as freestanding C++ with explicit vectors, by Winograd's F(2 x 2, 3 x
// 3): four neighbours of the result need 16 multiplications a channel instead of 36.
//
//   Y = A^T [sum over channels of (G g G^T) * (B^T d B)] A
//
// g: a weight, d: a tile of 4 x 4 values of the image, Y: the 2 x 2 results of it. All factors in G, B and A
// are 0, 1, -1 and 1/2, so that rounding stays within a small multiple of the direct sum's. Results that come
// out infinite or no numbers are computed again, directly: on the way differences of infinities may arise.
#pragma once

#include "core/codegen/cpp/product_text.h"

namespace vitrine::codegen::cpp {

// f32 values of memory that each work item needs.
int64_t winograd_scratch(const ProductTile& tile, const ProductNumbers& at);

// Arguments as of product_text with form.image, and at their end memory of winograd_scratch() values a work
// item, 64-byte aligned. Of ProductNumbers: n counts tiles, tiles_x those side by side, run the panels of a
// work item, images the images (and groups) of one, k the channels (a multiple of 16), c_row the values of a
// channel of the result, a_row those of a weight's row. A work item is so many images, or a run of panels for
// a chunk of rows.
std::string winograd_text(const ProductTile& tile, const ProductForm& form);

}  // namespace vitrine::codegen::cpp
