// What follows a product element by element, as a function over blocks of it that are still in the cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/codegen/cpp/product_text.h"
#include "core/codegen/schedule/program.h"
#include "core/codegen/schedule/schedule.h"

namespace vitrine::codegen::cpp {

struct Epilogue {
  std::string text;              // types, functions, and `after`; stands before the product's own text
  std::vector<int> arguments;    // of the schedule, in the order in which the kernel gets them
  int accumulator = -1;          // the written argument in which the product's sums stand meanwhile
  std::vector<ir::Sym> numbers;  // the kernel's, behind its ProductNumbers
  std::vector<LineOrigin> lines;
};

// The product's values in the order of its output: an outer and an inner batch, rows, columns.
struct ProductSpace {
  ir::Sym outer = 1, inner = 1, m = 1, n = 1;
};

// schedule: one phase of element-wise values that reads `product` where it was computed. The kernel's
// arguments from `first` on are the epilogue's. Nothing: it reads or writes something that does not run along
// rows of the product, or writes no f32 value in which sums could stand.
std::optional<Epilogue> make_epilogue(const Schedule& schedule, ir::Ref product, const ProductSpace& space,
                                      int lanes, size_t first);

}  // namespace vitrine::codegen::cpp
