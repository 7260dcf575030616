// Expressions and guards of another table with the same symbols, read from a file: they are in normal form,
// name only what is there, and are worked out in few steps.
#include "core/ir/sym_arithmetic.h"

namespace vitrine::ir {

namespace {

constexpr int64_t kMostNumber = int64_t{1} << 62;  // of a factor, a constant, a bound
constexpr int64_t kMostCost = 100'000;             // steps
constexpr size_t kMostFactors = 64;                // of a term

bool fits(int64_t number) {
  return number >= -kMostNumber && number <= kMostNumber;
}

}  // namespace

// Steps of working it out: atoms within atoms are gone through each time.
int64_t SymbolTable::cost(const Polynomial& sum) const {
  int64_t out = 1;
  for (const SymTerm& term : sum.terms)
    for (uint32_t number : term.atoms) out = bounded_add(out, costs_[number]);
  return out;
}

bool SymbolTable::is_sound(const Polynomial& sum) {
  for (size_t i = costs_.size(); i < atoms_.size(); ++i) {
    const SymAtom& atom = atoms_[i];
    costs_.push_back(
        atom.op == SymOp::Symbol ? 1 : bounded_add(cost(polynomial(atom.a)), cost(polynomial(atom.b))));
  }
  if (sum.terms.empty() || !fits(sum.constant)) return false;
  for (const SymTerm& term : sum.terms)
    if (term.factor == 0 || !fits(term.factor) || term.atoms.empty() || term.atoms.size() > kMostFactors ||
        !std::ranges::is_sorted(term.atoms) || term.atoms.back() >= atoms_.size())
      return false;
  const auto in_order = [](const SymTerm& a, const SymTerm& b) { return a.atoms >= b.atoms; };
  return std::ranges::adjacent_find(sum.terms, in_order) == sum.terms.end() && cost(sum) <= kMostCost &&
         evaluate(sum, hints()).has_value();
}

std::optional<Sym> SymbolTable::restored(Polynomial sum) {
  if (!is_sound(sum)) return {};
  const int64_t hint = hint_of(sum);
  const auto [at, fresh] = exprs_.try_emplace(std::move(sum));
  if (fresh) at->second = {this, at->first};
  return Sym(hint, &at->second);
}

bool SymbolTable::restore(SymAtom atom) {
  if (atom.op == SymOp::Symbol) {
    if (atom.symbol >= symbols_.size() || !atom.a.same(0) || !atom.b.same(0)) return false;
  } else {
    const bool divides = atom.op == SymOp::FloorDiv || atom.op == SymOp::Mod;
    if (atom.symbol != 0 || (divides && atom.b.hint() == 0) || !fits(atom.a.hint()) || !fits(atom.b.hint()))
      return false;
  }
  atoms_.push_back(std::move(atom));
  return true;
}

bool SymbolTable::is_sound(const SymGuard& guard) {
  return is_sound(guard.terms) && guard.terms.constant == 0 && guard.terms.terms[0].factor > 0 &&
         common_divisor(guard.terms) == 1 && fits(guard.bound);
}

void SymbolTable::restore(SymGuard guard) {
  const SymPlace place(*this, std::move(guard.place));
  record(std::move(guard.terms), guard.relation, guard.bound);
}

}  // namespace vitrine::ir
