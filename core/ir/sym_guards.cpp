// Questions about symbolic integers: ranges answer them, or the hint does and a guard remembers it. A guard
// is a bound on the terms of a difference, so that later questions about the same terms find it.
#include "core/ir/sym_arithmetic.h"

namespace vitrine::ir {
namespace {

SymRange intersect(SymRange a, SymRange b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}

SymRange product_range(SymRange a, SymRange b) {
  int64_t corners[] = {bounded_mul(a.lo, b.lo), bounded_mul(a.lo, b.hi), bounded_mul(a.hi, b.lo),
                       bounded_mul(a.hi, b.hi)};
  return {*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
}

SymRange quotient_range(SymRange a, SymRange b) {
  if (b.lo <= 0 && b.hi >= 0) return {};
  auto divide = [](int64_t x, int64_t y) { return x == kLowest && y == -1 ? kHighest : floor_div(x, y); };
  int64_t corners[] = {divide(a.lo, b.lo), divide(a.lo, b.hi), divide(a.hi, b.lo), divide(a.hi, b.hi)};
  return {*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
}

SymRange remainder_range(SymRange a, SymRange b) {
  if (b.lo > 0) return {0, a.lo >= 0 ? std::min(a.hi, b.hi - 1) : b.hi - 1};
  if (b.hi < 0) return {b.lo + 1, 0};
  return {};
}

// factor*terms + constant, with terms as a guard has them.
struct Normal {
  Polynomial terms;
  int64_t factor, constant;
};

Normal normal(const Polynomial& sum) {
  int64_t factor = common_divisor(sum);
  if (sum.terms[0].factor < 0) factor = -factor;
  Normal result{{sum.terms, 0}, factor, sum.constant};
  for (SymTerm& term : result.terms.terms) term.factor /= factor;
  return result;
}

}  // namespace

std::string range_text(const SymRange& range) {
  return "[" + (range.lo == kLowest ? std::string("-inf") : std::to_string(range.lo)) + ", " +
         (range.hi == kHighest ? std::string("inf") : std::to_string(range.hi)) + "]";
}

SymRange SymbolTable::range(const SymAtom& atom) const {
  if (atom.op == SymOp::Symbol) return symbols_[atom.symbol].range;
  SymRange a = range(atom.a), b = range(atom.b);
  switch (atom.op) {
    case SymOp::FloorDiv:
      return quotient_range(a, b);
    case SymOp::Mod:
      return remainder_range(a, b);
    case SymOp::Min:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    default:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
}

// With each atom as its least value and what is left of it: 2*s0*s1 - s0 for s0, s1 >= 2 is never below 6,
// since no factor is negative then. Of `sign` times the sum; nullopt: some factor is, or numbers are large.
std::optional<int64_t> SymbolTable::least_by_atoms(const Polynomial& sum, int64_t sign) const {
  constexpr int64_t kLarge = int64_t{1} << 40, kFactor = int64_t{1} << 20, kLeast = int64_t{1} << 10;
  constexpr size_t kTerms = 16, kAtoms = 3;
  const auto far = [](int64_t n, int64_t most) { return n > most || n < -most; };
  if (far(sum.constant, kLarge) || sum.terms.size() > kTerms) return {};
  Polynomial shifted{{}, sum.constant * sign};
  for (const SymTerm& term : sum.terms) {
    if (far(term.factor, kFactor) || term.atoms.size() > kAtoms) return {};
    Polynomial part{{}, term.factor * sign};
    for (uint32_t number : term.atoms) {
      const int64_t least = range(atoms_[number]).lo;
      if (far(least, kLeast)) return {};
      part = product_of(part, {{{{number}, 1}}, least});
    }
    shifted = sum_of(shifted, part);
  }
  const bool rises = std::ranges::all_of(shifted.terms, [](const SymTerm& term) { return term.factor > 0; });
  return rises ? std::optional(shifted.constant) : std::nullopt;
}

SymRange SymbolTable::range(const Polynomial& sum) const {
  SymRange result{sum.constant, sum.constant};
  for (const SymTerm& term : sum.terms) {
    SymRange part{term.factor, term.factor};
    for (uint32_t number : term.atoms) {
      SymRange one = range(atoms_[number]);
      if (auto fact = facts_.find({{{number}, 1}}); fact != facts_.end()) one = intersect(one, fact->second);
      part = product_range(part, one);
    }
    result = {bounded_add(result.lo, part.lo), bounded_add(result.hi, part.hi)};
  }
  if (sum.terms.empty()) return result;
  const auto falls = [](const SymTerm& term) { return term.factor < 0; };
  if (const auto minus = std::ranges::count_if(sum.terms, falls);
      minus > 0 && static_cast<size_t>(minus) < sum.terms.size()) {
    // A sum of several atoms that has a least value so has no greatest one.
    if (const auto least = least_by_atoms(sum, 1))
      result.lo = std::max(result.lo, *least);
    else if (const auto most = least_by_atoms(sum, -1))
      result.hi = std::min(result.hi, -*most);
  }
  Normal n = normal(sum);
  auto fact = facts_.find(n.terms.terms);
  if (fact == facts_.end()) return result;
  SymRange known = product_range(fact->second, {n.factor, n.factor});
  return intersect(result, {bounded_add(known.lo, n.constant), bounded_add(known.hi, n.constant)});
}

SymRange SymbolTable::range(const Sym& value) const {
  return value.expr() ? range(value.expr()->sum) : SymRange{value.hint(), value.hint()};
}

SymRange SymbolTable::symbol_range(int32_t number) const {
  for (uint32_t i = 0; i < atoms_.size(); ++i)
    if (atoms_[i].op == SymOp::Symbol && atoms_[i].symbol == static_cast<uint32_t>(number))
      return range(Polynomial{{{{i}, 1}}, 0});
  return symbols_.at(static_cast<size_t>(number)).range;
}

void SymbolTable::record(Polynomial terms, SymRelation relation, int64_t bound) {
  SymRange& fact = facts_.try_emplace(terms.terms, range(terms)).first->second;
  if (relation == SymRelation::Eq) fact = {bound, bound};
  if (relation == SymRelation::Le) fact.hi = std::min(fact.hi, bound);
  if (relation == SymRelation::Ge) fact.lo = std::max(fact.lo, bound);
  if (relation == SymRelation::Ne && fact.lo == bound) ++fact.lo;
  if (relation == SymRelation::Ne && fact.hi == bound) --fact.hi;
  const std::vector<SymTerm>& list = terms.terms;
  if (fact.lo == fact.hi && list.size() == 1 && list[0].atoms.size() == 1) {
    const SymAtom& only = atoms_[list[0].atoms[0]];
    if (only.op == SymOp::Symbol) symbols_[only.symbol].specialised_by = place_.empty() ? "unknown" : place_;
  }
  guards_.push_back({std::move(terms), relation, bound, place_});
}

bool SymbolTable::is_zero(const Polynomial& difference, bool answer) {
  if (difference.terms.empty()) return difference.constant == 0;
  Normal n = normal(difference);
  if (n.constant % n.factor != 0) return false;
  int64_t bound = whole(try_mul(n.constant / n.factor, -1));
  SymRange known = range(n.terms);
  if (bound < known.lo || bound > known.hi) return false;
  if (known.lo == known.hi) return true;
  for (const SymGuard& guard : guards_) {
    if (guard.relation == SymRelation::Ne && guard.bound == bound && guard.terms == n.terms) return false;
  }
  record(std::move(n.terms), answer ? SymRelation::Eq : SymRelation::Ne, bound);
  return answer;
}

bool SymbolTable::is_not_positive(const Polynomial& difference, bool answer) {
  if (difference.terms.empty()) return difference.constant <= 0;
  // f*T + c <= 0 is T <= floor(-c/f) for f > 0 and T >= ceil(c/-f) = -floor(-c/-f) for f < 0.
  Normal n = normal(difference);
  bool upper = n.factor > 0;
  int64_t opposite = whole(try_mul(n.constant, -1));
  int64_t bound = upper ? floor_div(opposite, n.factor) : -floor_div(opposite, -n.factor);
  SymRange known = range(n.terms);
  // An end that a sum reached by leaving 64 bits says nothing; an atom's own value always fits.
  bool fits = n.terms.terms.size() == 1 && n.terms.terms[0].atoms.size() == 1;
  if (upper ? known.hi <= bound && (fits || known.hi != kHighest)
            : known.lo >= bound && (fits || known.lo != kLowest)) {
    return true;
  }
  if (upper ? known.lo > bound : known.hi < bound) return false;
  if (upper == answer) {
    record(std::move(n.terms), SymRelation::Le, answer ? bound : bound - 1);
  } else {
    record(std::move(n.terms), SymRelation::Ge, answer ? bound : bound + 1);
  }
  return answer;
}

bool symbolic_equal(const Sym& a, const Sym& b) {
  SymbolTable* table = SymbolTable::of(a, b);
  if (!table) return a.hint() == b.hint();
  return table->is_zero(sum_of(polynomial(a), scaled(polynomial(b), -1)), a.hint() == b.hint());
}

bool symbolic_less_equal(const Sym& a, const Sym& b) {
  SymbolTable* table = SymbolTable::of(a, b);
  if (!table) return a.hint() <= b.hint();
  return table->is_not_positive(sum_of(polynomial(a), scaled(polynomial(b), -1)), a.hint() <= b.hint());
}

bool symbolic_never_above(const Sym& a, const Sym& b) {
  SymbolTable* table = SymbolTable::of(a, b);
  if (!table) return a.hint() <= b.hint();
  return a.hint() <= b.hint() && table->range(sum_of(polynomial(b), scaled(polynomial(a), -1))).lo >= 0;
}

int64_t Sym::specialise() const {
  (void)equal(*this, Sym(hint_));
  return hint_;
}

std::optional<int64_t> SymbolTable::evaluate(const SymAtom& atom, std::span<const int64_t> values) const {
  if (atom.op == SymOp::Symbol) return values[atom.symbol];
  auto a = evaluate(atom.a, values), b = evaluate(atom.b, values);
  if (!a || !b) return {};
  if (atom.op == SymOp::Min) return std::min(*a, *b);
  if (atom.op == SymOp::Max) return std::max(*a, *b);
  if (*b == 0 || (*a == kLowest && *b == -1)) return {};
  return atom.op == SymOp::FloorDiv ? floor_div(*a, *b) : floor_mod(*a, *b);
}

std::optional<int64_t> SymbolTable::evaluate(const Polynomial& sum, std::span<const int64_t> values) const {
  std::optional<int64_t> result = sum.constant;
  for (const SymTerm& term : sum.terms) {
    std::optional<int64_t> part = term.factor;
    for (uint32_t number : term.atoms) {
      auto one = evaluate(atoms_[number], values);
      part = one && part ? try_mul(*part, *one) : std::nullopt;
    }
    result = part && result ? try_add(*result, *part) : std::nullopt;
  }
  return result;
}

std::optional<int64_t> SymbolTable::evaluate(const Sym& value, std::span<const int64_t> values) const {
  return value.expr() ? evaluate(value.expr()->sum, values) : std::optional(value.hint());
}

std::vector<int64_t> SymbolTable::hints() const {
  std::vector<int64_t> out;
  for (const Symbol& symbol : symbols_) out.push_back(symbol.hint);
  return out;
}

int64_t SymbolTable::hint_of(const Polynomial& sum) const {
  return whole(evaluate(sum, hints()));
}

bool SymbolTable::holds_at_hints(const SymGuard& guard) const {
  const auto value = evaluate(guard.terms, hints());
  return value && answers(guard.relation, *value, guard.bound);
}

bool SymbolTable::uses_only(const Polynomial& sum, const std::vector<bool>& known) const {
  for (const SymTerm& term : sum.terms)
    for (uint32_t number : term.atoms) {
      const SymAtom& atom = atoms_[number];
      if (atom.op == SymOp::Symbol
              ? !known[atom.symbol]
              : !uses_only(polynomial(atom.a), known) || !uses_only(polynomial(atom.b), known))
        return false;
    }
  return true;
}

Sym SymbolTable::substitute(const SymAtom& atom, std::span<const Sym> by_symbol) const {
  if (atom.op == SymOp::Symbol) return by_symbol[atom.symbol];
  const Sym a = substitute(atom.a, by_symbol), b = substitute(atom.b, by_symbol);
  if (atom.op == SymOp::Min) return min(a, b);
  if (atom.op == SymOp::Max) return max(a, b);
  return atom.op == SymOp::FloorDiv ? floordiv(a, b) : mod(a, b);
}

Sym SymbolTable::substitute(const Polynomial& sum, std::span<const Sym> by_symbol) const {
  Sym result = sum.constant;
  for (const SymTerm& term : sum.terms) {
    Sym part = term.factor;
    for (uint32_t number : term.atoms) part *= substitute(atoms_[number], by_symbol);
    result += part;
  }
  return result;
}

Sym SymbolTable::substitute(const Sym& value, std::span<const Sym> by_symbol) const {
  return value.expr() ? substitute(value.expr()->sum, by_symbol) : value;
}

bool SymbolTable::depends_on(const Sym& value, int32_t symbol) const {
  if (!value.symbolic()) return false;
  std::vector<bool> others(symbols_.size(), true);
  others[static_cast<size_t>(symbol)] = false;
  return !uses_only(value.expr()->sum, others);
}

bool SymbolTable::may_hold(std::span<const int64_t> values, const std::vector<bool>& known) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (known[i] && (values[i] < symbols_[i].range.lo || values[i] > symbols_[i].range.hi)) return false;
  }
  return !first_failing(values, known);
}

const SymGuard* SymbolTable::narrowing(int32_t symbol) const {
  std::vector<bool> only(symbols_.size(), false);
  only[static_cast<size_t>(symbol)] = true;
  const SymRange declared = symbols_[static_cast<size_t>(symbol)].range;
  for (const SymGuard& guard : guards_) {
    if (!uses_only(guard.terms, only)) continue;
    const std::vector<SymTerm>& terms = guard.terms.terms;
    const bool itself = terms.size() == 1 && terms[0].factor == 1 && terms[0].atoms.size() == 1 &&
                        atoms_[terms[0].atoms[0]].op == SymOp::Symbol;
    const bool always = itself && (guard.relation == SymRelation::Le   ? guard.bound >= declared.hi
                                   : guard.relation == SymRelation::Ge ? guard.bound <= declared.lo
                                   : guard.relation == SymRelation::Ne
                                       ? guard.bound < declared.lo || guard.bound > declared.hi
                                       : declared.lo == declared.hi);
    if (!always) return &guard;
  }
  return nullptr;
}

const SymGuard* SymbolTable::first_failing(std::span<const int64_t> values,
                                           const std::vector<bool>& known) const {
  for (const SymGuard& guard : guards_) {
    if (!uses_only(guard.terms, known)) continue;
    auto value = evaluate(guard.terms, values);
    if (!value || !answers(guard.relation, *value, guard.bound)) return &guard;
  }
  return nullptr;
}

bool SymbolTable::holds(std::span<const int64_t> values) const {
  VITRINE_CHECK(values.size() == symbols_.size(), "one value a symbol");
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < symbols_[i].range.lo || values[i] > symbols_[i].range.hi) return false;
  }
  return std::ranges::all_of(guards_, [&](const SymGuard& guard) {
    auto value = evaluate(guard.terms, values);
    return value && answers(guard.relation, *value, guard.bound);
  });
}

}  // namespace vitrine::ir
