// An expression as a line of CUDA C++ for one element.
#pragma once

#include <string>

#include "core/codegen/schedule/typed_text.h"

namespace vitrine::codegen::cuda {

// The value of `expr`, computed with operands cast to `compute`, as a value of lane `want` (b1 is bool).
// compute may be f16 or bf16: constants of comparisons are then rounded to it.
// How much of an f32 is enough: where it has an exponential, 11 bits of that; where the result is rounded to
// 16 bits, as many of it.
struct Narrow {
  bool exponential = false, result = false;
};
// marked: as cpp's.
Typed expr_text(const fusion::ExprPtr& expr, ir::DType compute, Lane want, const OperandText& operand,
                bool marked = false, Narrow narrow = {});
Typed as_lane(const Typed& value, Lane to);
std::string constant_text(double value, Lane lane);

}  // namespace vitrine::codegen::cuda
