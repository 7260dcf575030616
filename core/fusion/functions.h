// The functions an expression may call, one row each: what the generated prelude can compute, on which kinds
// of element, and roughly what it costs. An operator whose body calls anything else runs through PyTorch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/fusion/expr.h"

namespace vitrine::fusion {

// What the second operand of a function of integers has to be, since eager asks of each element: a constant
// that divides (0 is an error, the smallest by -1 ends the process), or one below the type's width.
enum class Second : uint8_t { any, divisor, shift };

struct Function {
  std::string_view name;
  int arity;
  bool f64, integer;         // besides f32: computed exactly enough in double, meaningful on integers
  int cost;                  // in additions of one vector
  std::string_view prelude;  // name in the generated text
  bool f32 = true;           // else only f64
  Second second = Second::any;
};

inline constexpr Function kFunctions[] = {
    {"neg", 1, true, true, 1, "-"},
    {"abs", 1, true, true, 1, "vabs"},
    {"min", 2, true, true, 2, "vmin"},
    {"max", 2, true, true, 2, "vmax"},
    {"where", 3, true, true, 1, "where"},
    {"sqrt", 1, true, false, 12, "vsqrt"},
    {"rsqrt", 1, true, false, 16, "vrsqrt"},
    {"floor", 1, true, false, 1, "vfloor"},
    {"ceil", 1, true, false, 1, "vceil"},
    {"round", 1, true, false, 1, "vround"},
    {"trunc", 1, true, false, 1, "vtrunc"},
    {"sign", 1, true, true, 3, "vsign"},
    {"isnan", 1, true, true, 1, "isnan"},
    {"isinf", 1, true, true, 2, "isinf"},
    {"exp", 1, false, false, 14, "vexp"},
    {"log", 1, false, false, 14, "vlog"},
    {"tanh", 1, false, false, 18, "vtanh"},
    {"erf", 1, false, false, 18, "verf"},
    {"sin", 1, false, false, 40, "vsin"},
    {"cos", 1, false, false, 40, "vcos"},
    {"sigmoid", 1, false, false, 20, "vsigmoid"},
    {"expm1", 1, false, false, 40, "vexpm1"},
    {"log1p", 1, false, false, 24, "vlog1p"},
    {"log2", 1, false, false, 15, "vlog2"},
    {"log10", 1, false, false, 15, "vlog10"},
    {"pow", 2, true, false, 200, "vpow", false},  // eager's of f32 are another library's
    {"exp2", 1, false, false, 14, "vexp2"},
    {"tan", 1, false, false, 48, "vtan"},
    {"asin", 1, false, false, 30, "vasin"},
    {"acos", 1, false, false, 30, "vacos"},
    {"atan", 1, false, false, 24, "vatan"},
    {"atan2", 2, false, false, 34, "vatan2"},
    {"sinh", 1, false, false, 60, "vsinh"},
    {"cosh", 1, false, false, 30, "vcosh"},
    {"asinh", 1, false, false, 50, "vasinh"},
    {"acosh", 1, false, false, 50, "vacosh"},
    {"atanh", 1, false, false, 40, "vatanh"},
    {"copysign", 2, true, false, 2, "vcopysign"},
    {"fmod", 2, false, true, 20, "vfmod", true, Second::divisor},
    {"mod", 2, false, true, 24, "vmod", true, Second::divisor},
    {"floordiv", 2, false, true, 44, "vfloordiv", true, Second::divisor},
    {"shl", 2, false, true, 1, "vshl", false, Second::shift},
    {"shr", 2, false, true, 1, "vshr", false, Second::shift},
    {"+", 2, true, true, 1, "+"},
    {"-", 2, true, true, 1, "-"},
    {"*", 2, true, true, 1, "*"},
    {"/", 2, true, false, 8, "/"},
    {"<", 2, true, true, 1, "<"},
    {"<=", 2, true, true, 1, "<="},
    {">", 2, true, true, 1, ">"},
    {">=", 2, true, true, 1, ">="},
    {"==", 2, true, true, 1, "=="},
    {"!=", 2, true, true, 1, "!="},
    {"&", 2, false, true, 1, "&"},
    {"|", 2, false, true, 1, "|"},
    {"^", 2, false, true, 1, "^"},
    {"~", 1, false, true, 1, "~"},
};

constexpr const Function* find_function(std::string_view name) {
  for (const Function& f : kFunctions)
    if (f.name == name) return &f;
  return nullptr;
}

// What computing the tree costs, in additions of one vector.
int expr_cost(const Expr& e);

// Whether the value is a truth: a comparison, or a bitwise combination of such.
bool is_truth(const Expr& e);

bool calls(const Expr& e, std::string_view function);

// Whether the tree can be computed on elements of `compute`; else `why` names what cannot.
bool computable(const Expr& e, ir::DType compute, std::string& why);

}  // namespace vitrine::fusion
