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

// How a CPU's kernels compute on doubles: not at all, by the text for any vector, or by one of their own.
enum class Doubles : uint8_t { none, same, own };
constexpr Doubles kNone = Doubles::none, kSame = Doubles::same, kOwn = Doubles::own;

struct Function {
  std::string_view name;
  int arity;
  Doubles f64;
  bool integer;              // meaningful on integers
  int cost;                  // in additions of one vector
  std::string_view prelude;  // name in the generated C++, of doubles' own with d for v: vexp, dexp
  // Name in the generated CUDA C++ for every type; "": CUDA's own mathematics has it by this name.
  std::string_view cuda = "";
  bool f32 = true;  // else only f64
  Second second = Second::any;
};

inline constexpr Function kFunctions[] = {
    {"neg", 1, kSame, true, 1, "-"},
    {"abs", 1, kSame, true, 1, "vabs", "absolute"},
    {"min", 2, kSame, true, 2, "vmin", "minimum"},
    {"max", 2, kSame, true, 2, "vmax", "maximum"},
    {"where", 3, kSame, true, 1, "where"},
    {"sqrt", 1, kSame, false, 12, "vsqrt"},
    {"rsqrt", 1, kSame, false, 16, "vrsqrt"},
    {"floor", 1, kSame, false, 1, "vfloor"},
    {"ceil", 1, kSame, false, 1, "vceil"},
    {"round", 1, kSame, false, 1, "vround"},
    {"trunc", 1, kSame, false, 1, "vtrunc"},
    {"sign", 1, kSame, true, 3, "vsign", "sign"},
    {"isnan", 1, kSame, true, 1, "isnan"},
    {"isinf", 1, kSame, true, 2, "isinf"},
    {"exp", 1, kOwn, false, 14, "vexp"},
    {"log", 1, kOwn, false, 14, "vlog"},
    {"tanh", 1, kOwn, false, 18, "vtanh"},
    {"erf", 1, kOwn, false, 18, "verf"},
    {"sin", 1, kOwn, false, 40, "vsin"},
    {"cos", 1, kOwn, false, 40, "vcos"},
    {"sigmoid", 1, kOwn, false, 20, "vsigmoid", "sigmoid"},
    {"expm1", 1, kOwn, false, 40, "vexpm1"},
    {"log1p", 1, kOwn, false, 24, "vlog1p"},
    {"log2", 1, kOwn, false, 15, "vlog2"},
    {"log10", 1, kOwn, false, 15, "vlog10"},
    {"pow", 2, kOwn, false, 70, "vpow"},
    {"exp2", 1, kOwn, false, 14, "vexp2"},
    {"tan", 1, kNone, false, 48, "vtan"},
    {"asin", 1, kNone, false, 30, "vasin"},
    {"acos", 1, kNone, false, 30, "vacos"},
    {"atan", 1, kNone, false, 24, "vatan"},
    {"atan2", 2, kNone, false, 34, "vatan2"},
    {"sinh", 1, kNone, false, 60, "vsinh"},
    {"cosh", 1, kNone, false, 30, "vcosh"},
    {"asinh", 1, kNone, false, 50, "vasinh"},
    {"acosh", 1, kNone, false, 50, "vacosh"},
    {"atanh", 1, kNone, false, 40, "vatanh"},
    {"erfinv", 1, kOwn, false, 70, "verfinv"},
    {"i0e", 1, kOwn, false, 60, "vi0e", "i0e"},
    {"nextafter", 2, kOwn, false, 8, "vnextafter"},
    {"copysign", 2, kSame, false, 2, "vcopysign"},
    {"fmod", 2, kNone, true, 20, "vfmod", "", true, Second::divisor},
    {"mod", 2, kNone, true, 24, "vmod", "modulo", true, Second::divisor},
    {"floordiv", 2, kNone, true, 44, "vfloordiv", "floor_quotient", true, Second::divisor},
    {"shl", 2, kNone, true, 1, "vshl", "shift_left", false, Second::shift},
    {"shr", 2, kNone, true, 1, "vshr", "shift_right", false, Second::shift},
    {"+", 2, kSame, true, 1, "+"},
    {"-", 2, kSame, true, 1, "-"},
    {"*", 2, kSame, true, 1, "*"},
    {"/", 2, kSame, false, 8, "/"},
    {"<", 2, kSame, true, 1, "<"},
    {"<=", 2, kSame, true, 1, "<="},
    {">", 2, kSame, true, 1, ">"},
    {">=", 2, kSame, true, 1, ">="},
    {"==", 2, kSame, true, 1, "=="},
    {"!=", 2, kSame, true, 1, "!="},
    {"&", 2, kNone, true, 1, "&"},
    {"|", 2, kNone, true, 1, "|"},
    {"^", 2, kNone, true, 1, "^"},
    {"~", 1, kNone, true, 1, "~"},
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

// Whether the tree can be computed on elements of `compute`; else `why` names what cannot.
bool computable(const Expr& e, ir::DType compute, std::string& why);

}  // namespace vitrine::fusion
