// What both dialects know of an expression's text: its lane, constants that fold, and numbers that follow
// from sizes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/fusion/expr.h"
#include "core/ir/types.h"

namespace vitrine::codegen {

// What a register holds: f32 | f64 | i32 | i64 | b1 (in vectors a mask of 0 and -1, as wide as i32).
using Lane = ir::DType;

struct Typed {
  std::string text;
  Lane lane = ir::DType::f32;
  bool atomic = true;  // a name or a call: needs no parentheses
};

// Names of an operand and its lane.
using OperandText = std::function<Typed(int)>;

// The text, in parentheses unless it is atomic.
std::string paren(const Typed& t);

// A finite number as C++ and CUDA C++ write it: "1.5f", of f64 "2.0".
std::string float_literal(double value, Lane lane);
bool is_one(const fusion::Expr& e);

// `literal`, which is how the constant is written in lane `lane`, with its mark.
std::string marked_constant(double value, int64_t integer, bool whole, Lane lane, const std::string& literal);

// A symbolic integer in lane `lane`, marked.
std::string marked_size(const ir::Sym& size, Lane lane);

// The number that an expression of constants is, each step rounded to `compute` (f16 and bf16: to f32);
// nothing: it is none.
std::optional<fusion::ExprPtr> fold(const fusion::ExprPtr& expr, ir::DType compute);
// What a dialect makes of an expression: dialect.number(constant), .size(expression), .operand(index) or
// .call(expression).
template <class Dialect>
Typed print_by(Dialect& dialect, const fusion::ExprPtr& e, ir::DType compute) {
  if (const auto folded = fold(e, compute)) return dialect.number(**folded);
  VITRINE_CHECK(e->kind != fusion::Expr::Kind::name, "a name is left in an expression: " + e->name);
  if (e->kind == fusion::Expr::Kind::number) return dialect.number(*e);
  if (e->kind == fusion::Expr::Kind::size) return dialect.size(*e);
  return e->kind == fusion::Expr::Kind::operand ? dialect.operand(e->operand) : dialect.call(*e);
}
// A constant as it is after rounding to f16 or bf16; of any other type, itself.
double rounded(double value, ir::DType type);

}  // namespace vitrine::codegen
