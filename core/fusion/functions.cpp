#include "core/fusion/functions.h"

#include <algorithm>
#include <limits>

namespace vitrine::fusion {

namespace {

template <size_t N>
bool one_of(const std::string& name, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}
constexpr std::string_view kComparisons[] = {"<", "<=", ">", ">=", "==", "!=", "isnan", "isinf"};
constexpr std::string_view kBitwise[] = {"&", "|", "^", "~"};
// What is defined on booleans as elements.
constexpr std::string_view kBoolean[] = {"&", "|", "^", "~", "*", "+", "min", "max", "==", "!=", "where"};

// Whether the second operand is what a function of integers of this type asks for.
bool second_fits(const Function& f, const Expr& e, ir::DType type) {
  if (f.second == Second::any) return true;
  const Expr& by = *e.args[1];
  if (by.kind != Expr::Kind::number || !by.whole) return false;
  const bool is_signed = type != ir::DType::u8;
  const int bits = static_cast<int>(8 * ir::dtype_bytes(type));
  if (f.second == Second::shift) return by.integer >= 0 && by.integer < bits;
  const int64_t most =
      bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  return by.integer != 0 && by.integer != -1 && by.integer <= most && by.integer >= (is_signed ? -most : 0);
}

}  // namespace

int expr_cost(const Expr& e) {
  int cost = 0;
  if (e.kind == Expr::Kind::call) {
    const Function* f = find_function(e.name);
    cost = f ? f->cost : 1;
  }
  for (const ExprPtr& a : e.args) cost += expr_cost(*a);
  return cost;
}

bool is_truth(const Expr& e) {
  if (e.kind != Expr::Kind::call) return false;
  if (one_of(e.name, kComparisons)) return true;
  return one_of(e.name, kBitwise) &&
         std::all_of(e.args.begin(), e.args.end(), [](const ExprPtr& a) { return is_truth(*a); });
}

bool computable(const Expr& e, ir::DType compute, std::string& why) {
  for (const ExprPtr& a : e.args)
    if (!computable(*a, compute, why)) return false;
  if (e.kind != Expr::Kind::call) return true;
  const Function* f = find_function(e.name);
  bool exact = f && static_cast<size_t>(f->arity) == e.args.size();
  if (compute == ir::DType::b1)
    exact = exact && one_of(e.name, kBoolean);
  else if (is_truth(e))
    exact = exact && true;
  else if (compute == ir::DType::f64)
    exact = exact && f->f64 != Doubles::none;
  else
    exact = exact && (ir::is_float(compute) ? f->f32 && !one_of(e.name, kBitwise)
                                            : f->integer && second_fits(*f, e, compute));
  if (!exact) why = e.name + " is not generated for " + std::string(ir::dtype_name(compute));
  return exact;
}

}  // namespace vitrine::fusion
