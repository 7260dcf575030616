// Normal forms: every Sym is made here, so two expressions that are the same polynomial are the same object.
#include "core/ir/sym.h"

#include "core/ir/sym_arithmetic.h"

namespace vitrine::ir {

Polynomial sum_of(const Polynomial& a, const Polynomial& b) {
  Polynomial result{{}, whole(try_add(a.constant, b.constant))};
  auto i = a.terms.begin(), j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->atoms < j->atoms)) {
      result.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->atoms < i->atoms) {
      result.terms.push_back(*j++);
    } else {
      if (int64_t factor = whole(try_add(i->factor, j->factor))) result.terms.push_back({i->atoms, factor});
      ++i, ++j;
    }
  }
  return result;
}

Polynomial scaled(const Polynomial& a, int64_t factor) {
  if (factor == 0) return {};
  Polynomial result{a.terms, whole(try_mul(a.constant, factor))};
  for (SymTerm& term : result.terms) term.factor = whole(try_mul(term.factor, factor));
  return result;
}

Polynomial product_of(const Polynomial& a, const Polynomial& b) {
  Polynomial result = scaled(a, b.constant);
  for (const SymTerm& right : b.terms) {
    Polynomial part;
    if (a.constant != 0) part = {{{right.atoms, whole(try_mul(right.factor, a.constant))}}, 0};
    for (const SymTerm& left : a.terms) {
      SymTerm term{{}, whole(try_mul(left.factor, right.factor))};
      std::ranges::merge(left.atoms, right.atoms, std::back_inserter(term.atoms));
      part = sum_of(part, {{term}, 0});
    }
    result = sum_of(result, part);
  }
  return result;
}

int64_t common_divisor(const Polynomial& sum, int64_t start) {
  for (const SymTerm& term : sum.terms) start = std::gcd(start, term.factor);
  return start;
}

SymbolTable* SymbolTable::of(const Sym& a, const Sym& b) {
  SymbolTable* table = a.expr() ? a.expr()->table : b.expr() ? b.expr()->table : nullptr;
  VITRINE_CHECK(!a.expr() || !b.expr() || b.expr()->table == table,
                "sizes of two compilations meet in one expression");
  return table;
}

Sym SymbolTable::size(std::string source, int64_t hint, SymRange range) {
  if (hint < 2) return Sym(hint);
  range.lo = std::max<int64_t>(range.lo, 2);
  return integer(std::move(source), hint, range);
}

Sym SymbolTable::integer(std::string source, int64_t hint, SymRange range) {
  VITRINE_CHECK(range.lo <= hint && hint <= range.hi, "the hint of " + source + " is not in its range");
  auto number = static_cast<uint32_t>(symbols_.size());
  symbols_.push_back({"s" + std::to_string(number), std::move(source), hint, range, {}});
  return atom(SymOp::Symbol, number, Sym(), Sym(), hint);
}

Sym SymbolTable::symbol(int32_t number) {
  const int64_t hint = symbols_.at(static_cast<size_t>(number)).hint;
  return atom(SymOp::Symbol, static_cast<uint32_t>(number), Sym(), Sym(), hint);
}

Sym SymbolTable::make(Polynomial sum, int64_t hint) {
  if (sum.terms.empty()) return Sym(sum.constant);
  SymRange known = range(sum);
  if (known.lo == known.hi) return Sym(known.lo);
  auto [at, fresh] = exprs_.try_emplace(std::move(sum));
  if (fresh) at->second = {this, at->first};
  return Sym(hint, &at->second);
}

Sym SymbolTable::atom(SymOp op, uint32_t symbol, const Sym& a, const Sym& b, int64_t hint) {
  auto found = std::ranges::find_if(atoms_, [&](const SymAtom& other) {
    return other.op == op && other.symbol == symbol && other.a.same(a) && other.b.same(b);
  });
  auto number = static_cast<uint32_t>(found - atoms_.begin());
  if (found == atoms_.end()) atoms_.push_back({op, symbol, a, b});
  return make({{{{number}, 1}}, 0}, hint);
}

std::string text(const Sym& value) {
  return value.symbolic() ? value.expr()->table->text(value) : std::to_string(value.hint());
}

SymRange known_range(const Sym& value) {
  return value.symbolic() ? value.expr()->table->range(value) : SymRange{value.hint(), value.hint()};
}

Sym symbolic_add(const Sym& a, const Sym& b) {
  int64_t hint = whole(try_add(a.hint(), b.hint()));
  SymbolTable* table = SymbolTable::of(a, b);
  return table ? table->make(sum_of(polynomial(a), polynomial(b)), hint) : Sym(hint);
}

Sym symbolic_mul(const Sym& a, const Sym& b) {
  int64_t hint = whole(try_mul(a.hint(), b.hint()));
  SymbolTable* table = SymbolTable::of(a, b);
  return table ? table->make(product_of(polynomial(a), polynomial(b)), hint) : Sym(hint);
}

Sym SymbolTable::extremum(SymOp op, const Sym& a, const Sym& b) {
  // a-b decides where its range does not contain both signs.
  SymRange gap = range(sum_of(polynomial(a), scaled(polynomial(b), -1)));
  if (gap.hi <= 0) return op == SymOp::Min ? a : b;
  if (gap.lo >= 0) return op == SymOp::Min ? b : a;
  bool ordered = polynomial(a) < polynomial(b);
  int64_t hint = op == SymOp::Min ? std::min(a.hint(), b.hint()) : std::max(a.hint(), b.hint());
  return atom(op, 0, ordered ? a : b, ordered ? b : a, hint);
}

Sym min(const Sym& a, const Sym& b) {
  SymbolTable* table = SymbolTable::of(a, b);
  return table ? table->extremum(SymOp::Min, a, b) : Sym(std::min(a.hint(), b.hint()));
}

Sym max(const Sym& a, const Sym& b) {
  SymbolTable* table = SymbolTable::of(a, b);
  return table ? table->extremum(SymOp::Max, a, b) : Sym(std::max(a.hint(), b.hint()));
}

}  // namespace vitrine::ir
