// Floor division and remainder: what divides exactly leaves the division, ranges remove the rest where they
// can.
#include "core/ir/sym_arithmetic.h"

namespace vitrine::ir {
namespace {

// value == multiple + rest, where multiple/divisor has only whole factors.
struct Split {
  Polynomial quotient, rest;
};

Split split_by_constant(const Polynomial& value, int64_t divisor) {
  Split result{{{}, floor_div(value.constant, divisor)}, {{}, floor_mod(value.constant, divisor)}};
  for (const SymTerm& term : value.terms) {
    if (term.factor % divisor == 0) {
      result.quotient.terms.push_back({term.atoms, term.factor / divisor});
    } else {
      result.rest.terms.push_back(term);
    }
  }
  return result;
}

Split split_by_term(const Polynomial& value, const SymTerm& divisor) {
  Split result{{}, {{}, value.constant}};
  for (const SymTerm& term : value.terms) {
    if (term.factor % divisor.factor == 0 && std::ranges::includes(term.atoms, divisor.atoms)) {
      SymTerm part{{}, term.factor / divisor.factor};
      std::ranges::set_difference(term.atoms, divisor.atoms, std::back_inserter(part.atoms));
      Polynomial one = part.atoms.empty() ? Polynomial{{}, part.factor} : Polynomial{{part}, 0};
      result.quotient = sum_of(result.quotient, one);
    } else {
      result.rest.terms.push_back(term);
    }
  }
  return result;
}

// The constant k with value == k*divisor, if there is one.
std::optional<int64_t> ratio(const Polynomial& value, const Polynomial& divisor) {
  if (value.terms.size() != divisor.terms.size() || divisor.terms.empty()) return {};
  int64_t over = value.terms[0].factor, under = divisor.terms[0].factor;
  if (under == 0 || over == kLowest || over % under != 0) return {};
  return scaled(divisor, over / under) == value ? std::optional(over / under) : std::nullopt;
}

}  // namespace

void SymbolTable::require_nonzero(const Sym& divisor) {
  VITRINE_CHECK(divisor.hint() != 0, "a size is divided by zero");
  (void)equal(divisor, Sym(0));
}

Sym SymbolTable::quotient_by_constant(const Sym& a, int64_t b) {
  int64_t hint = floor_div(a.hint(), b);
  if (b < 0) return quotient_by_constant(mul(a, Sym(-1)), whole(try_mul(b, -1)));
  auto [whole_part, rest] = split_by_constant(polynomial(a), b);
  // (g*x + c) // (g*d) == (x + c//g) // d
  int64_t g = common_divisor(rest, b);
  for (SymTerm& term : rest.terms) term.factor /= g;
  rest.constant = floor_div(rest.constant, g);
  b /= g;
  SymRange known = range(rest);
  if (b == 1) return make(sum_of(whole_part, rest), hint);
  if (known.lo != kLowest && known.hi != kHighest && floor_div(known.lo, b) == floor_div(known.hi, b)) {
    return make(sum_of(whole_part, {{}, floor_div(known.lo, b)}), hint);
  }
  Sym inner = make(rest, hint_of(rest));
  if (rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].factor == 1 &&
      rest.terms[0].atoms.size() == 1) {
    // (x // c) // b == x // (c*b) for c, b > 0
    const SymAtom& only = atoms_[rest.terms[0].atoms[0]];
    auto product =
        only.op == SymOp::FloorDiv && !only.b.symbolic() ? try_mul(only.b.hint(), b) : std::nullopt;
    if (product) return add(make(whole_part, hint_of(whole_part)), quotient_by_constant(only.a, *product));
  }
  Sym left = atom(SymOp::FloorDiv, 0, inner, Sym(b), floor_div(inner.hint(), b));
  return add(make(whole_part, hint_of(whole_part)), left);
}

Sym SymbolTable::quotient(const Sym& a, const Sym& b) {
  require_nonzero(b);
  if (!b.symbolic()) return quotient_by_constant(a, b.hint());
  Polynomial value = polynomial(a), divisor = polynomial(b);
  if (auto k = ratio(value, divisor)) return Sym(*k);
  Split parts{{}, value};
  if (divisor.terms.size() == 1 && divisor.constant == 0) parts = split_by_term(value, divisor.terms[0]);
  Sym exact = make(parts.quotient, hint_of(parts.quotient));
  Sym rest = make(parts.rest, hint_of(parts.rest));
  if (range(rest).lo >= 0 && range(rest).hi < range(b).lo) return exact;
  return add(exact, atom(SymOp::FloorDiv, 0, rest, b, floor_div(rest.hint(), b.hint())));
}

Sym SymbolTable::remainder_by_constant(const Sym& a, int64_t b) {
  // a mod -b == -(-a mod b)
  if (b < 0) return mul(remainder_by_constant(mul(a, Sym(-1)), whole(try_mul(b, -1))), Sym(-1));
  Polynomial rest = split_by_constant(polynomial(a), b).rest;
  // (g*x) mod (g*d) == g*(x mod d)
  int64_t g = std::gcd(common_divisor(rest, b), rest.constant);
  for (SymTerm& term : rest.terms) term.factor /= g;
  rest.constant /= g;
  b /= g;
  Sym inner = make(rest, hint_of(rest));
  SymRange known = range(rest);
  if (b == 1) return Sym(0);
  if (known.lo != kLowest && known.hi != kHighest && floor_div(known.lo, b) == floor_div(known.hi, b)) {
    return mul(add(inner, Sym(-floor_div(known.lo, b) * b)), Sym(g));
  }
  return mul(atom(SymOp::Mod, 0, inner, Sym(b), floor_mod(inner.hint(), b)), Sym(g));
}

Sym SymbolTable::remainder(const Sym& a, const Sym& b) {
  require_nonzero(b);
  if (!b.symbolic()) return remainder_by_constant(a, b.hint());
  Polynomial value = polynomial(a), divisor = polynomial(b);
  if (ratio(value, divisor)) return Sym(0);
  if (divisor.terms.size() == 1 && divisor.constant == 0) {
    value = split_by_term(value, divisor.terms[0]).rest;
  }
  Sym rest = make(value, hint_of(value));
  if (range(rest).lo >= 0 && range(rest).hi < range(b).lo) return rest;
  return atom(SymOp::Mod, 0, rest, b, floor_mod(rest.hint(), b.hint()));
}

Sym floordiv(const Sym& a, const Sym& b) {
  VITRINE_CHECK(b.hint() != 0, "a size is divided by zero");
  VITRINE_CHECK(a.hint() != kLowest || b.hint() != -1, "a size leaves 64 bits");
  SymbolTable* table = SymbolTable::of(a, b);
  return table ? table->quotient(a, b) : Sym(floor_div(a.hint(), b.hint()));
}

Sym ceildiv(const Sym& a, const Sym& b) {
  return floordiv(a + b - 1, b);
}

Sym mod(const Sym& a, const Sym& b) {
  VITRINE_CHECK(b.hint() != 0, "a size is divided by zero");
  VITRINE_CHECK(a.hint() != kLowest || b.hint() != -1, "a size leaves 64 bits");
  SymbolTable* table = SymbolTable::of(a, b);
  return table ? table->remainder(a, b) : Sym(floor_mod(a.hint(), b.hint()));
}

}  // namespace vitrine::ir
