#include "core/codegen/cuda/expr_text.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "core/fusion/functions.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cuda {

using fusion::Expr;
using fusion::ExprPtr;
using ir::DType;

namespace {

std::string literal(double value, int64_t integer, bool whole, Lane lane) {
  char text[64];
  if (lane == DType::b1) return value != 0 ? "true" : "false";
  if (lane == DType::i64 || lane == DType::i32) {
    const long long v = whole ? static_cast<long long>(integer) : static_cast<long long>(value);
    if (v == std::numeric_limits<long long>::min()) return "(-9223372036854775807ll - 1)";
    std::snprintf(text, sizeof text, lane == DType::i64 ? "%lldll" : "%lld", v);
    return text;
  }
  const bool single = lane != DType::f64;
  if (std::isnan(value)) return single ? "kNan" : "f64(kNan)";
  if (single) value = static_cast<float>(value);
  if (std::isinf(value)) return std::string(value < 0 ? "-" : "") + (single ? "kInf" : "f64(kInf)");
  return float_literal(value, lane);
}

// 1 + exp(x), by which silu divides: what is rounded to 16 bits loses nothing to a rough quotient.
bool is_logistic(const Expr& e) {
  return e.kind == Expr::Kind::call && e.name == "+" && is_one(*e.args[0]) &&
         e.args[1]->kind == Expr::Kind::call && e.args[1]->name == "exp";
}

class Printer {
 public:
  Printer(DType compute, const OperandText& operand, bool marked, Narrow narrow)
      : compute_(compute),
        lane_(fusion::lane_dtype(compute)),
        operand_(operand),
        marked_(marked),
        narrow_(lane_ == DType::f32 ? narrow : Narrow{}) {}

  Typed print(const ExprPtr& e) { return print_by(*this, e, compute_); }
  Typed lane(const ExprPtr& e) { return as_lane(print(e), lane_); }

  Typed operand(int index) const { return operand_(index); }
  Typed size(const Expr& e) const {
    VITRINE_CHECK(marked_, "a symbolic number in a text whose numbers are fixed");
    const Lane lane = lane_ == DType::b1 ? DType::i32 : lane_;
    return as_lane({marked_size(e.size, lane), lane, true}, lane_);
  }
  Typed number(const Expr& e, bool compared = false) const {
    const double v = compared ? rounded(e.number, compute_) : e.number;
    const std::string text = literal(v, e.integer, e.whole, lane_);
    return {marked_ ? marked_constant(v, e.integer, e.whole, lane_, text) : text, lane_, true};
  }
  Typed call(const Expr& e) {
    const std::string& f = e.name;
    if (f == "/" && narrow_.result && is_logistic(*e.args[1])) {
      const std::string by =
          paren(lane(e.args[1]->args[0])) + " + exp_narrow(" + lane(e.args[1]->args[1]->args[0]).text + ")";
      return {"quotient_narrow(" + lane(e.args[0]).text + ", " + by + ")", lane_, true};
    }
    if (f == "*" && is_one(*e.args[1])) return lane(e.args[0]);
    if (f == "*" && is_one(*e.args[0])) return lane(e.args[1]);
    if (f == "where")
      return {truth(e.args[0]) + " ? " + paren(lane(e.args[1])) + " : " + paren(lane(e.args[2])), lane_,
              false};
    const bool truths = e.args.size() == 2 && fusion::is_truth(*e.args[0]) && fusion::is_truth(*e.args[1]);
    if (lane_ == DType::b1 || (truths && (f == "&" || f == "|" || f == "^" || f == "==" || f == "!=")))
      return boolean(e);
    if (f == "~" && fusion::is_truth(*e.args[0])) return boolean(e);
    if (compares(f))
      return {paren(lane(e.args[0])) + " " + f + " " + paren(side(e.args[1], true)), DType::b1, false};
    if (f == "neg" || f == "~") return {(f == "~" ? "~" : "-") + paren(lane(e.args[0])), lane_, true};
    if ((f == "isnan" || f == "isinf") && !ir::is_float(lane_)) return {"false", DType::b1, true};
    if (f == "isnan" || f == "isinf")
      return {(f == "isnan" ? "is_nan(" : "is_inf(") + lane(e.args[0]).text + ")", DType::b1, true};
    const fusion::Function* row = fusion::find_function(f);
    VITRINE_CHECK(row, "no function " + f);
    if (row->arity == 2 && row->prelude.size() == 1)
      return {paren(lane(e.args[0])) + " " + f + " " + paren(lane(e.args[1])), lane_, false};
    std::string list;
    for (const ExprPtr& a : e.args) list += (list.empty() ? "" : ", ") + lane(a).text;
    return {name_of(*row) + "(" + list + ")", lane_, true};
  }

 private:
  Typed side(const ExprPtr& e, bool compared) {
    ExprPtr c = e;
    if (auto folded = fold(e, compute_)) c = *folded;
    return c->kind == Expr::Kind::number ? number(*c, compared) : lane(e);
  }
  static bool compares(const std::string& f) {
    return f == "<" || f == "<=" || f == ">" || f == ">=" || f == "==" || f == "!=";
  }

  // The functions of CUDA's own mathematics by their names for f32; ours stand in the prelude.
  std::string name_of(const fusion::Function& row) const {
    const std::string f(row.name);
    if (f == "sigmoid" && narrow_.result) return "sigmoid_narrow";
    if (!row.cuda.empty()) return std::string(row.cuda);
    if (f == "fmod" && !ir::is_float(lane_)) return "rest_of";
    if (f == "exp" && narrow_.exponential) return "exp_narrow";
    const std::string name = f == "round" ? "rint" : f;
    return lane_ == DType::f64 ? "::" + name : name + "f";  // a value may be called exp
  }
  std::string truth(const ExprPtr& e) { return paren(as_lane(print(e), DType::b1)); }
  Typed boolean(const Expr& e) {
    const std::string& f = e.name;
    auto arg = [&](size_t i) { return truth(e.args[i]); };
    if (f == "~") return {"!" + arg(0), DType::b1, true};
    if (f == "&" || f == "*" || f == "min") return {arg(0) + " && " + arg(1), DType::b1, false};
    if (f == "|" || f == "+" || f == "max") return {arg(0) + " || " + arg(1), DType::b1, false};
    if (f == "^" || f == "!=") return {arg(0) + " != " + arg(1), DType::b1, false};
    if (f == "==") return {arg(0) + " == " + arg(1), DType::b1, false};
    VITRINE_CHECK(false, f + " of booleans is not generated");
  }

  DType compute_;
  Lane lane_;
  const OperandText& operand_;
  bool marked_;
  const Narrow narrow_;
};

}  // namespace

std::string constant_text(double value, Lane lane) {
  return literal(value, static_cast<int64_t>(value), false, lane);
}

Typed as_lane(const Typed& value, Lane to) {
  if (value.lane == to) return value;
  if (to == DType::b1) return {paren(value) + " != 0", to, false};
  return {std::string(ir::dtype_name(to)) + "(" + value.text + ")", to, true};
}

Typed expr_text(const ExprPtr& expr, DType compute, Lane want, const OperandText& operand, bool marked,
                Narrow narrow) {
  if (expr->kind == Expr::Kind::operand) return as_lane(operand(expr->operand), want);
  Printer printer(compute, operand, marked, narrow);
  return as_lane(printer.print(expr), want);
}

}  // namespace vitrine::codegen::cuda
