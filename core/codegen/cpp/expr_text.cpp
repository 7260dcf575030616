#include "core/codegen/cpp/expr_text.h"

#include <cmath>
#include <cstdio>
#include <optional>

#include "core/fusion/functions.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cpp {

using fusion::Expr;
using fusion::ExprPtr;
using ir::DType;

namespace {

const char* lane_word(Lane lane) {
  switch (lane) {
    case DType::f64:
      return "f64";
    case DType::i64:
      return "i64";
    case DType::i32:
      return "i32";
    default:
      return "f32";
  }
}

// "1.5f", "3", "7l", "-__builtin_inff()"
std::string literal(double value, int64_t integer, bool whole, Lane lane) {
  char text[64];
  if (lane == DType::i64 || lane == DType::i32) {
    long long v = whole ? static_cast<long long>(integer) : static_cast<long long>(value);
    if (v == std::numeric_limits<long long>::min()) return "(-9223372036854775807l - 1)";
    std::snprintf(text, sizeof text, lane == DType::i64 ? "%lldl" : "%lld", v);
    return text;
  }
  bool single = lane != DType::f64;
  if (std::isnan(value)) return single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  if (single) value = static_cast<float>(value);
  if (std::isinf(value))
    return std::string(value < 0 ? "-" : "") + (single ? "__builtin_inff()" : "__builtin_inf()");
  return float_literal(value, lane);
}

class Printer {
 public:
  Printer(DType compute, const OperandText& operand, bool marked)
      : compute_(compute), lane_(fusion::lane_dtype(compute)), operand_(operand), marked_(marked) {}

  // As a value of the compute lane (or a mask, for comparisons and logic: the caller casts).
  Typed print(const ExprPtr& e) { return print_by(*this, e, compute_); }
  Typed lane(const ExprPtr& e) { return cast(print(e), lane_); }

  Typed number(const Expr& e) const {
    if (lane_ == DType::b1) return {e.number != 0 ? "~splat(0)" : "splat(0)", DType::b1, false};
    return {"splat(" + constant(e, e.number) + ")", lane_, true};
  }
  Typed size(const Expr& e) const {
    VITRINE_CHECK(marked_, "a symbolic number in a text whose numbers are fixed");
    const Lane lane = lane_ == DType::b1 ? DType::i32 : lane_;
    return cast({"splat(" + marked_size(e.size, lane) + ")", lane, true}, lane_);
  }
  Typed operand(int index) const { return operand_(index); }
  Typed call(const Expr& e) {
    const std::string& f = e.name;
    if (f == "*" && is_one(*e.args[1])) return lane(e.args[0]);
    if (f == "*" && is_one(*e.args[0])) return lane(e.args[1]);
    if (f == "where") return choose(e);
    bool truths = e.args.size() == 2 && fusion::is_truth(*e.args[0]) && fusion::is_truth(*e.args[1]);
    if (truths && (f == "&" || f == "|" || f == "^" || f == "==" || f == "!=")) return boolean(e);
    if (f == "~" && fusion::is_truth(*e.args[0])) return boolean(e);
    if (lane_ == DType::b1) return boolean(e);
    if (f == "<" || f == "<=" || f == ">" || f == ">=" || f == "==" || f == "!=") {
      // One side must be a vector.
      std::string left = fold(e.args[0], compute_) || e.args[0]->kind == Expr::Kind::number
                             ? lane(e.args[0]).text
                             : side(e.args[0]);
      return as_mask({left + " " + f + " " + side(e.args[1], true), lane_, false});
    }
    if (f == "neg" || f == "~") return {(f == "~" ? "~" : "-") + paren(lane(e.args[0])), lane_, true};
    if (f == "isnan" || f == "isinf") return test(f, e);
    if (f == "max" || f == "min") return extremum(e);
    const fusion::Function* row = fusion::find_function(f);
    VITRINE_CHECK(row, "no function " + f);
    if (row->arity == 2 && row->prelude.size() == 1) {
      std::string left = side(e.args[0]);
      return {left + " " + f + " " + side(e.args[1]), lane_, false};
    }
    std::string list;
    for (const ExprPtr& a : e.args) list += (list.empty() ? "" : ", ") + lane(a).text;
    std::string name(row->prelude);
    if (lane_ == DType::f64 && row->f64 == fusion::Doubles::own) name[0] = 'd';
    return {name + "(" + list + ")", lane_, true};
  }

 private:
  // Constant operands of a vector operator are plain scalars: 0.5f * x.
  std::string side(const ExprPtr& e, bool compared = false) {
    ExprPtr c = e;
    if (auto folded = fold(e, compute_)) c = *folded;
    if (c->kind != Expr::Kind::number || lane_ == DType::b1) return paren(lane(e));
    double v = compared ? rounded(c->number, compute_) : c->number;
    return constant(*c, v);
  }
  std::string constant(const Expr& e, double v) const {
    const std::string text = literal(v, e.integer, e.whole, lane_);
    return marked_ ? marked_constant(v, e.integer, e.whole, lane_, text) : text;
  }

  Typed test(const std::string& f, const Expr& e) {
    Typed x = lane(e.args[0]);
    if (!ir::is_float(lane_)) return {"splat(0)", DType::b1, true};
    if (f == "isnan") return as_mask({paren(x) + " != " + paren(x), lane_, false});
    return as_mask(
        {"vabs(" + x.text + ") == " + literal(std::numeric_limits<double>::infinity(), 0, false, lane_),
         lane_, false});
  }
  // A bound that is a constant needs one instruction, and keeps a NaN.
  Typed extremum(const Expr& e) {
    bool max = e.name == "max";
    auto constant = [&](const ExprPtr& a) { return a->kind == Expr::Kind::number || fold(a, compute_); };
    for (int i : {1, 0}) {
      const ExprPtr &bound = e.args[static_cast<size_t>(i)], &x = e.args[static_cast<size_t>(1 - i)];
      if (constant(bound) && !constant(x) && !std::isnan(bound->number))
        return {std::string(max ? "at_least(" : "at_most(") + lane(x).text + ", " + side(bound) + ")", lane_,
                true};
    }
    return {std::string(max ? "vmax(" : "vmin(") + lane(e.args[0]).text + ", " + lane(e.args[1]).text + ")",
            lane_, true};
  }
  Typed choose(const Expr& e) {
    std::string list = mask(e.args[0]).text + ", " + lane(e.args[1]).text + ", " + lane(e.args[2]).text;
    return {"where(" + list + ")", lane_, true};
  }
  // An operand's truth, in its own type: 0.5 is true.
  Typed mask(const ExprPtr& e) {
    Typed x = print(e);
    return cast(x, DType::b1);
  }
  Typed boolean(const Expr& e) {
    const std::string& f = e.name;
    auto arg = [&](size_t i) { return paren(mask(e.args[i])); };
    if (f == "~") return {"~" + arg(0), DType::b1, true};
    if (f == "&" || f == "*" || f == "min") return {arg(0) + " & " + arg(1), DType::b1, false};
    if (f == "|" || f == "+" || f == "max") return {arg(0) + " | " + arg(1), DType::b1, false};
    if (f == "^" || f == "!=") return {arg(0) + " ^ " + arg(1), DType::b1, false};
    if (f == "==") return {"~(" + arg(0) + " ^ " + arg(1) + ")", DType::b1, true};
    VITRINE_CHECK(false, f + " of booleans is not generated");
  }
  Typed as_mask(const Typed& comparison) {
    // Comparing 64-bit lanes gives a 64-bit mask.
    if (comparison.lane == DType::f64 || comparison.lane == DType::i64)
      return {"narrow(" + comparison.text + ")", DType::b1, true};
    return {comparison.text, DType::b1, false};
  }

  DType compute_;
  Lane lane_;
  const OperandText& operand_;
  bool marked_;
};

}  // namespace

std::string constant_text(double value, Lane lane) {
  return "splat(" + literal(value, static_cast<int64_t>(value), false, lane) + ")";
}

Typed cast(const Typed& value, Lane to) {
  if (value.lane == to) return value;
  if (to == DType::b1) {
    std::string zero = literal(0, 0, true, value.lane);
    std::string test = paren(value) + " != " + zero;
    if (value.lane == DType::f64 || value.lane == DType::i64)
      return {"narrow(" + test + ")", DType::b1, true};
    return {test, DType::b1, false};
  }
  // A true lane is -1.
  if (value.lane == DType::b1 && to == DType::i32) return {"-" + paren(value), to, true};
  if (value.lane == DType::b1)
    return {std::string("to_") + lane_word(to) + "(-" + paren(value) + ")", to, true};
  return {std::string("to_") + lane_word(to) + "(" + value.text + ")", to, true};
}

Typed expr_text(const ExprPtr& expr, DType compute, Lane want, const OperandText& operand, bool marked) {
  // A lone operand is a cast from its own type, not through another.
  if (expr->kind == Expr::Kind::operand) return cast(operand(expr->operand), want);
  Printer printer(compute, operand, marked);
  return cast(printer.print(expr), want);
}

std::string narrowed(const std::string& text, ir::DType t) {
  std::string name(ir::dtype_name(t));
  if (t == ir::DType::u8 || t == ir::DType::i8 || t == ir::DType::i16)
    return "wrap_" + name + "(" + text + ")";
  if (t == ir::DType::f16 || t == ir::DType::bf16) return "round_" + name + "(" + text + ")";
  return text;
}

}  // namespace vitrine::codegen::cpp
