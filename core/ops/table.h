// The operator table: one row an operator overload. A newcomer finds an operator's whole truth in its row.
// Rows live in core/ops/<family>.cpp; an operator without a row runs through PyTorch as an opaque node.
//
// `body` of a pointwise row is an expression in a small language, which code generation reads:
//  - a, b, c, ...: the arguments by schema position (tensor elements and numbers alike); keyword-only
//    arguments by their name (alpha, value). Tensors broadcast; a number stands for itself.
//  - Evaluated in ops::compute_dtype(): every identifier is converted to it first (float16 and bfloat16
//    compute in f32), the result is converted to the output's type at the end. Conversions are PyTorch's:
//    to bool by != 0, float to integer by truncation.
//  - + - * / and unary - as in C (/ only ever in a floating type); comparisons == != < <= > >= give bool;
//    & | ^ ~ on integers and bool; literals 2, 0.5; pi constants are written out. Precedence as in C, but
//    & ^ | bind tighter than comparisons (write parentheses anyway).
//  - functions: exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh
//  asinh
//    acosh atanh erf erfinv i0e abs floor ceil trunc round (half to even) sign pow(x,y) atan2(y,x)
//    copysign(x,y), nextafter(x,y), fmod(x,y) (C's), mod(x,y) and floordiv(x,y) (Python's % and //), shl(x,n)
//    and shr(x,n), min(x,y) and max(x,y) (either operand NaN gives NaN), isnan(x) isinf(x), where(condition,
//    x, y), sigmoid(x) = 1/(1+exp(-x)). The condition of where() is read as a bool: a tensor there is not
//    converted but compared with 0.
//  - comparisons with NaN are false but !=, as in C: where(a < 0, 0, a) keeps NaN.
// The body of a reduction row is its name: sum, prod, amax, amin, any, all, argmax, argmin, cumsum.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::ops {

enum class Family : uint8_t { pointwise, reduction, matmul, view, memory, random, opaque, collective };
std::string_view family_name(Family family);  // as the session stores it

// An argument as a shape rule sees it: a tensor's type where the node has a Ref, else the constant itself.
struct ShapeArg {
  const ir::TensorType* tensor = nullptr;
  bool is_wrapped_number = false;  // a Python number that became a 0-d tensor: weak in type promotion
  const ir::Arg* constant = nullptr;
  std::vector<ShapeArg> list;  // list of tensors
};
struct ShapeCall {
  std::vector<ShapeArg> args;                // in schema order (keyword-only ones last), defaults filled in
  ir::DType default_dtype = ir::DType::f32;  // torch.get_default_dtype(): what an integer becomes in sqrt
  bool grad_enabled = false;                 // torch.is_grad_enabled()
};
// Types (with exact strides and offsets, as PyTorch's CPU kernels give them) of the outputs. Error: the call
// is one that the rule does not cover; PyTorch's meta kernel is asked instead. A rule never guesses.
using ShapeRule = Result<std::vector<ir::TensorType>> (*)(const ShapeCall& call);

// How the compiler treats it below the ATen graph. Those of movement (an element of the result is one of an
// operand), scatter (elements written where an index says, in a copy) and scan (sums so far) have a rule in
// core/fusion; what no rule covers runs through PyTorch, as an opaque one does.
enum class Lower : uint8_t {
  pointwise,
  reduction,
  view,
  library,
  opaque,
  decompose,
  movement,
  scatter,
  scan
};

// What else is true of an operator, as bits.
enum Fact : uint8_t {
  kSavesNumbers = 1,  // autograd saves a number that is an operand: to it that is a tensor as well
  kWrapsAlike = 2,    // of integers: wrapped before it computes or after it, a number gives the same
  kNeedsFreedom = 4,  // PyTorch's kernel warns where the correction leaves no degree of freedom
  kOwnSteps = 8,      // of half types it is not what the body gives for f32, rounded
};

struct OpRow {
  std::string_view name;  // "aten.add.Tensor"
  // The schema's parameters with defaults: "self, other, *, alpha=1". A '!' after a name marks an argument
  // that the operator writes: "self!, other"; "mean!training" one that it writes if `training` is True: that
  // is handed back to nobody, and the tensor's version does not count it. A list of numbers is written as in
  // the graph's text: dim=[1].
  std::string_view params;
  Family family;
  Lower lower;
  ShapeRule shape;        // nullptr: PyTorch's meta kernel
  std::string_view body;  // pointwise: expression, see above; reduction: its name; else ""
  // How the gradients of the arguments follow from g, that of the result y:
  //  - an expression in the language above, where any other function is an operator ("tanh_backward(g, y)");
  //    one an argument where several have a gradient: "a: g * b; b: g * a"; scaled(x, n) is x * n, and x
  //    itself for 1, where a product would lie in memory of its own;
  //  - rule: a function in core/autodiff/rules_<family>.cpp;
  //  - functional: as the operator that computes the same without writing;
  //  - borrowed("why"): PyTorch's own backward of the operator is run instead;
  //  - nondifferentiable("why").
  std::string_view gradient;
  std::string_view doc;  // one line
  // The operator that computes the same into its first argument and hands that back. Its row is made from
  // this one.
  std::string_view in_place = "";
  // The body on a GPU where PyTorch's kernel there computes otherwise, which shows in what overflows or is
  // NaN; "" = as on the CPU.
  std::string_view gpu_body = "";
  uint8_t facts = 0;
  const OpRow* functional = nullptr;  // of a row so made: the one that it was made from
};

const OpRow* find(std::string_view name);  // nullptr: no row
const std::vector<const OpRow*>& all();    // in file order, those made from others last
bool is(const OpRow* row, Fact fact);      // false: no row

}  // namespace vitrine::ops
