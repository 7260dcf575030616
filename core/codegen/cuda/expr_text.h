// An expression as a line of CUDA C++ for one element.
#pragma once

#include <string>

#include "core/codegen/schedule/typed_text.h"

namespace vitrine::codegen::cuda {

// The value of `expr`, computed with operands cast to `compute`, as a value of lane `want` (b1 is bool).
// compute may be f16 or bf16: constants of comparisons are then rounded to it.
// marked: as cpp's. narrow_exp: 11 bits of an f32's exponential are enough.
Typed expr_text(const fusion::ExprPtr& expr, ir::DType compute, Lane want, const OperandText& operand,
                bool marked = false, bool narrow_exp = false);
Typed as_lane(const Typed& value, Lane to);
std::string constant_text(double value, Lane lane);

}  // namespace vitrine::codegen::cuda
