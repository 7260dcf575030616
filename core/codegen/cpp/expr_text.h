// An expression as a line of C++ over vectors. Every value has a lane: what its registers hold.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/fusion/expr.h"
#include "core/ir/types.h"

namespace vitrine::codegen::cpp {

// f32 | f64 | i32 | i64 | b1 (a mask of 0 and -1, as wide as i32)
using Lane = ir::DType;

struct Typed {
  std::string text;
  Lane lane = ir::DType::f32;
  bool atomic = true;  // a name or a call: needs no parentheses
};

// Names of an operand and its lane.
using OperandText = std::function<Typed(int)>;

// The value of `expr`, computed with operands cast to `compute`, as a value of lane `want`. compute may be
// f16 or bf16: constants of comparisons are then rounded to it. marked: constants may follow from sizes that
// change (SizeMemory).
Typed expr_text(const fusion::ExprPtr& expr, ir::DType compute, Lane want, const OperandText& operand,
                bool marked = false);

// `literal`, which is how the constant is written in lane `lane`, with its mark.
std::string marked_constant(double value, int64_t integer, bool whole, Lane lane, const std::string& literal);

// The number that an expression of constants is, each step rounded to `compute` (f16 and bf16: to f32);
// nothing: it is none.
std::optional<fusion::ExprPtr> fold(const fusion::ExprPtr& expr, ir::DType compute);
// A constant as it is after rounding to f16 or bf16; of any other type, itself.
double rounded(double value, ir::DType type);

// `value` as lane `to`.
Typed cast(const Typed& value, Lane to);

// What memory of dtype `t` would hold of a value in registers: narrow integers wrap, short floats are
// rounded.
std::string narrowed(const std::string& text, ir::DType t);

// A constant as one vector: "splat(1.5f)".
std::string constant_text(double value, Lane lane);

}  // namespace vitrine::codegen::cpp
