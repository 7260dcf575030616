// Symbolic integers: a size that is not fixed is a hint (its value in the call being compiled) with an
// expression over the symbols of one compilation. Expressions are polynomials in normal form over atoms
// (symbols, floor divisions, remainders, minima, maxima), so (s0*4)//4 is s0 and equal expressions are one
// object. A question about a Sym is answered by the known ranges where they decide it; otherwise it is
// answered for the hint and the answer is recorded as a guard. Using a Sym as a plain int64_t specialises it:
// it records "expression == hint". Code that knows nothing of symbols therefore stays correct, only narrower.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace vitrine::ir {

class SymbolTable;
struct SymExpr;

class Sym {
 public:
  template <std::integral T = int64_t>
  Sym(T value = 0) : hint_(static_cast<int64_t>(value)) {}

  int64_t hint() const { return hint_; }         // asks nothing, records nothing
  const SymExpr* expr() const { return expr_; }  // nullptr: a constant
  bool symbolic() const { return expr_ != nullptr; }
  operator int64_t() const { return expr_ ? specialise() : hint_; }
  // The same expression, so equal for all values; asks nothing. What differs may still be equal.
  bool same(const Sym& other) const { return expr_ == other.expr_ && hint_ == other.hint_; }
  // What hint() and expr() told; for texts that carry a Sym.
  static Sym of(int64_t hint, const SymExpr* expr) { return {hint, expr}; }

 private:
  friend class SymbolTable;
  Sym(int64_t hint, const SymExpr* expr) : hint_(hint), expr_(expr) {}
  int64_t specialise() const;

  int64_t hint_ = 0;
  const SymExpr* expr_ = nullptr;
};

// Throw InternalError where a result leaves 64 bits. Of plain numbers / and % are C++'s; of others the caller
// says which rounding, or they are specialised.
Sym symbolic_add(const Sym& a, const Sym& b);
Sym symbolic_mul(const Sym& a, const Sym& b);
inline Sym add(const Sym& a, const Sym& b) {
  int64_t sum;
  const bool plain = !a.symbolic() && !b.symbolic() && !__builtin_add_overflow(a.hint(), b.hint(), &sum);
  return plain ? Sym(sum) : symbolic_add(a, b);
}
inline Sym mul(const Sym& a, const Sym& b) {
  int64_t product;
  const bool plain = !a.symbolic() && !b.symbolic() && !__builtin_mul_overflow(a.hint(), b.hint(), &product);
  return plain ? Sym(product) : symbolic_mul(a, b);
}
Sym floordiv(const Sym& a, const Sym& b);  // as Python's //; the divisor's hint must not be 0
Sym mod(const Sym& a, const Sym& b);       // as Python's %; the same
Sym min(const Sym& a, const Sym& b);
Sym max(const Sym& a, const Sym& b);
bool symbolic_equal(const Sym& a, const Sym& b);
bool symbolic_less_equal(const Sym& a, const Sym& b);
inline bool equal(const Sym& a, const Sym& b) {
  return a.symbolic() || b.symbolic() ? symbolic_equal(a, b) : a.hint() == b.hint();
}
inline bool less_equal(const Sym& a, const Sym& b) {
  return a.symbolic() || b.symbolic() ? symbolic_less_equal(a, b) : a.hint() <= b.hint();
}
// Whether the ranges that are known decide that a <= b; asks nothing.
bool symbolic_never_above(const Sym& a, const Sym& b);
inline bool never_above(const Sym& a, const Sym& b) {
  return a.symbolic() || b.symbolic() ? symbolic_never_above(a, b) : a.hint() <= b.hint();
}
Sym ceildiv(const Sym& a, const Sym& b);  // rounds up; b is positive
// Whether it is known to be a multiple; asks nothing, unless whether `part` may be 0.
inline bool divides(const Sym& part, const Sym& whole) {
  if (!part.symbolic() && !whole.symbolic()) return whole.hint() % part.hint() == 0;
  return mod(whole, part).same(0);
}

std::string text(const Sym& value);  // "8", "8*s0+1"; asks nothing
struct SymRange;
SymRange known_range(const Sym& value);  // SymbolTable::range() of its table; of a constant, the constant

template <class T>
concept SymOrInt = std::same_as<T, Sym> || std::integral<T>;
template <class A, class B>
concept SymPair = SymOrInt<A> && SymOrInt<B> && (std::same_as<A, Sym> || std::same_as<B, Sym>);

inline Sym operator-(const Sym& a) {
  return mul(a, Sym(-1));
}
template <class A, class B>
  requires SymPair<A, B>
Sym operator+(const A& a, const B& b) {
  return add(Sym(a), Sym(b));
}
template <class A, class B>
  requires SymPair<A, B>
Sym operator-(const A& a, const B& b) {
  return add(Sym(a), mul(Sym(b), Sym(-1)));
}
template <class A, class B>
  requires SymPair<A, B>
Sym operator*(const A& a, const B& b) {
  return mul(Sym(a), Sym(b));
}
template <class A, class B>
  requires SymPair<A, B>
bool operator==(const A& a, const B& b) {
  return equal(Sym(a), Sym(b));
}
template <class A, class B>
  requires SymPair<A, B>
bool operator<=(const A& a, const B& b) {
  return less_equal(Sym(a), Sym(b));
}
template <class A, class B>
  requires SymPair<A, B>
bool operator>=(const A& a, const B& b) {
  return less_equal(Sym(b), Sym(a));
}
template <class A, class B>
  requires SymPair<A, B>
bool operator<(const A& a, const B& b) {
  return !less_equal(Sym(b), Sym(a));
}
template <class A, class B>
  requires SymPair<A, B>
bool operator>(const A& a, const B& b) {
  return !less_equal(Sym(a), Sym(b));
}

inline Sym& operator+=(Sym& a, const Sym& b) {
  return a = add(a, b);
}
inline Sym& operator-=(Sym& a, const Sym& b) {
  return a = a - b;
}
inline Sym& operator*=(Sym& a, const Sym& b) {
  return a = mul(a, b);
}

// Both ends included; the ends of int64_t mean "not bounded".
struct SymRange {
  int64_t lo = std::numeric_limits<int64_t>::min();
  int64_t hi = std::numeric_limits<int64_t>::max();
  bool operator==(const SymRange&) const = default;
};
std::string range_text(const SymRange& range);  // "[2, 8]", "[2, inf]"

struct Symbol {
  std::string name;    // "s0"
  std::string source;  // where a call finds its value: "L['x'].size(0)"
  int64_t hint = 0;
  SymRange range;              // as declared: binding a value outside of it must be refused
  std::string specialised_by;  // the place that fixed it to its hint; empty if it is still free
};

struct SymTerm {
  std::vector<uint32_t> atoms;  // numbers of the factors, sorted; a power repeats its atom
  int64_t factor = 1;
  auto operator<=>(const SymTerm&) const = default;
};

// The sum of the terms and the constant. Terms are sorted by atoms; no factor is 0.
struct Polynomial {
  std::vector<SymTerm> terms;
  int64_t constant = 0;
  auto operator<=>(const Polynomial&) const = default;
};

struct SymExpr {
  SymbolTable* table;
  Polynomial sum;
};

enum class SymOp : uint8_t { Symbol, FloorDiv, Mod, Min, Max };

struct SymAtom {
  SymOp op;
  uint32_t symbol;  // op == Symbol
  Sym a, b;         // the others' operands
};

enum class SymRelation : uint8_t { Eq, Ne, Le, Ge };

// terms (relation) bound. The terms have no common divisor and the first factor is positive.
struct SymGuard {
  Polynomial terms;
  SymRelation relation;
  int64_t bound;
  std::string place;  // who asked first
};

// The symbols, expressions and guards of one compilation. It must outlive its Syms and stay where it is.
class SymbolTable {
 public:
  SymbolTable() = default;
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // A dimension: 0 and 1 mean something else than other sizes (empty, broadcast), so a hint below 2 gives a
  // constant and a symbol is never below 2. The hint must lie in the range.
  Sym size(std::string source, int64_t hint, SymRange range = {});
  Sym integer(std::string source, int64_t hint, SymRange range = {});

  Sym symbol(int32_t number);  // as size() or integer() gave it
  const std::deque<Symbol>& symbols() const { return symbols_; }
  const std::vector<SymGuard>& guards() const { return guards_; }
  // The value with these in the places of the symbols: it is of their table, and has the same hint.
  Sym substitute(const Sym& value, std::span<const Sym> by_symbol) const;
  std::string text(const Sym& value) const;
  std::string text(const SymGuard& guard) const;  // "s0 <= 64"
  // The inverse of text(value), over the symbols of this table: + - * // % min max and parentheses.
  Result<Sym> parse(std::string_view text);
  SymRange symbol_range(int32_t number) const;
  SymRange range(const Sym& value) const;  // follows from the declared ranges and the guards so far

  // The value with values[i] for symbol i; nothing where it leaves 64 bits or divides by 0.
  std::optional<int64_t> evaluate(const Sym& value, std::span<const int64_t> values) const;
  std::optional<int64_t> evaluate(const SymGuard& guard, std::span<const int64_t> values) const {
    return evaluate(guard.terms, values);
  }
  bool depends_on(const Sym& value, int32_t symbol) const;
  // Whether a compilation may be used for these values: declared ranges and all guards.
  bool holds(std::span<const int64_t> values) const;
  // Whether it may be, when only the values are known that `known` names: false if these forbid it.
  bool may_hold(std::span<const int64_t> values, const std::vector<bool>& known) const;
  // A guard on this symbol alone that forbids some value of its declared range; nullptr: there is none. One
  // that is no bound on the symbol itself (s0 % 2 == 0) counts as such.
  const SymGuard* narrowing(int32_t symbol) const;
  // The first guard that forbids it; nullptr: none does.
  const SymGuard* first_failing(std::span<const int64_t> values, const std::vector<bool>& known) const;

  // Of another table with the same symbols, which may be a file's: what is not sound is refused, and nothing
  // is asked. Restored in the order in which they were made, they have the numbers that they had there.
  const std::deque<SymAtom>& atoms() const { return atoms_; }
  bool restore(SymAtom atom);
  std::optional<Sym> restored(Polynomial sum);
  // Whether it may be one of this table.
  bool is_sound(const SymGuard& guard);
  bool holds_at_hints(const SymGuard& guard) const;
  void restore(SymGuard guard);  // one that is sound

  void set_place(std::string place) { place_ = std::move(place); }
  const std::string& place() const { return place_; }

 private:
  friend class Sym;
  friend Sym symbolic_add(const Sym&, const Sym&);
  friend Sym symbolic_mul(const Sym&, const Sym&);
  friend Sym floordiv(const Sym&, const Sym&);
  friend Sym mod(const Sym&, const Sym&);
  friend Sym min(const Sym&, const Sym&);
  friend Sym max(const Sym&, const Sym&);
  friend bool symbolic_equal(const Sym&, const Sym&);
  friend bool symbolic_less_equal(const Sym&, const Sym&);
  friend bool symbolic_never_above(const Sym&, const Sym&);

  static SymbolTable* of(const Sym& a, const Sym& b);
  Sym make(Polynomial sum, int64_t hint);
  Sym atom(SymOp op, uint32_t symbol, const Sym& a, const Sym& b, int64_t hint);
  Sym quotient(const Sym& a, const Sym& b);
  Sym quotient_by_constant(const Sym& a, int64_t b);
  Sym remainder(const Sym& a, const Sym& b);
  Sym remainder_by_constant(const Sym& a, int64_t b);
  Sym extremum(SymOp op, const Sym& a, const Sym& b);
  void require_nonzero(const Sym& divisor);
  bool is_zero(const Polynomial& difference, bool answer);
  bool is_not_positive(const Polynomial& difference, bool answer);
  std::optional<int64_t> least_by_atoms(const Polynomial& sum, int64_t sign) const;
  void record(Polynomial terms, SymRelation relation, int64_t bound);
  std::vector<int64_t> hints() const;
  int64_t hint_of(const Polynomial& sum) const;
  bool is_sound(const Polynomial& sum);
  int64_t cost(const Polynomial& sum) const;
  SymRange range(const Polynomial& sum) const;
  SymRange range(const SymAtom& atom) const;
  Sym substitute(const Polynomial& sum, std::span<const Sym> by_symbol) const;
  Sym substitute(const SymAtom& atom, std::span<const Sym> by_symbol) const;
  std::optional<int64_t> evaluate(const Polynomial& sum, std::span<const int64_t> values) const;
  std::optional<int64_t> evaluate(const SymAtom& atom, std::span<const int64_t> values) const;
  bool uses_only(const Polynomial& sum, const std::vector<bool>& known) const;
  std::string text(const Polynomial& sum) const;
  std::string text(const SymAtom& atom) const;

  std::deque<Symbol> symbols_;
  std::deque<SymAtom> atoms_;
  std::map<Polynomial, SymExpr> exprs_;
  std::vector<SymGuard> guards_;
  std::map<std::vector<SymTerm>, SymRange> facts_;  // what the guards say of a guard's terms
  std::string place_;
  std::vector<int64_t> costs_;  // by atom, of the first ones: see cost()
};

// Names the operator on whose behalf questions are asked, for as long as it lives.
class SymPlace {
 public:
  SymPlace(SymbolTable& table, std::string place) : table_(table), before_(table.place()) {
    table_.set_place(std::move(place));
  }
  ~SymPlace() { table_.set_place(std::move(before_)); }
  SymPlace(const SymPlace&) = delete;
  SymPlace& operator=(const SymPlace&) = delete;

 private:
  SymbolTable& table_;
  std::string before_;
};

}  // namespace vitrine::ir
