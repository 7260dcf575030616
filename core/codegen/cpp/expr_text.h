// An expression as a line of C++ over vectors. Every value has a lane: what its registers hold.
#pragma once

#include <string>

#include "core/codegen/schedule/typed_text.h"

namespace vitrine::codegen::cpp {

// The value of `expr`, computed with operands cast to `compute`, as a value of lane `want`. compute may be
// f16 or bf16: constants of comparisons are then rounded to it. marked: constants may follow from sizes that
// change (SizeMemory).
Typed expr_text(const fusion::ExprPtr& expr, ir::DType compute, Lane want, const OperandText& operand,
                bool marked = false);

// `value` as lane `to`.
Typed cast(const Typed& value, Lane to);

// What memory of dtype `t` would hold of a value in registers: narrow integers wrap, short floats are
// rounded.
std::string narrowed(const std::string& text, ir::DType t);

// A constant as one vector: "splat(1.5f)".
std::string constant_text(double value, Lane lane);

}  // namespace vitrine::codegen::cpp
