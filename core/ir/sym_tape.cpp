#include "core/ir/sym_tape.h"

#include <algorithm>

#include "core/ir/sym_arithmetic.h"

namespace vitrine::ir {

uint32_t SymTape::constant(int64_t value) {
  const auto [at, is_new] = constants_.try_emplace(value, static_cast<uint32_t>(registers_.size()));
  if (is_new) registers_.push_back(value);
  return at->second;
}

uint32_t SymTape::emit(Op op, uint32_t a, uint32_t b) {
  const auto to = static_cast<uint32_t>(registers_.size());
  registers_.push_back(0);
  instructions_.push_back({op, to, a, b});
  return to;
}

uint32_t SymTape::atom(const SymbolTable& table, uint32_t number) {
  if (const auto known = atoms_.find(number); known != atoms_.end()) return known->second;
  const SymAtom& atom = table.atoms()[number];
  uint32_t place;
  if (atom.op == SymOp::Symbol) {
    place = emit(Op::Symbol, atom.symbol, 0);
  } else {
    const uint32_t a = sum(table, polynomial(atom.a)), b = sum(table, polynomial(atom.b));
    const Op op = atom.op == SymOp::Min        ? Op::Min
                  : atom.op == SymOp::Max      ? Op::Max
                  : atom.op == SymOp::FloorDiv ? Op::FloorDiv
                                               : Op::Mod;
    place = emit(op, a, b);
  }
  atoms_.emplace(number, place);
  return place;
}

// In the order of SymbolTable::evaluate, so that the same leaves 64 bits.
uint32_t SymTape::sum(const SymbolTable& table, const Polynomial& polynomial) {
  if (polynomial.terms.empty()) return constant(polynomial.constant);
  if (const auto known = sums_.find(polynomial); known != sums_.end()) return known->second;
  bool has_result = polynomial.constant != 0;
  uint32_t result = has_result ? constant(polynomial.constant) : 0;
  for (const SymTerm& term : polynomial.terms) {
    bool has_part = term.factor != 1 || term.atoms.empty();
    uint32_t part = has_part ? constant(term.factor) : 0;
    for (const uint32_t number : term.atoms) {
      const uint32_t one = atom(table, number);
      part = has_part ? emit(Op::Mul, part, one) : one;
      has_part = true;
    }
    result = has_result ? emit(Op::Add, result, part) : part;
    has_result = true;
  }
  sums_.emplace(polynomial, result);
  return result;
}

uint32_t SymTape::add(const Sym& value) {
  return value.expr() ? sum(*value.expr()->table, value.expr()->sum) : constant(value.hint());
}

void SymTape::require(const SymbolTable& table) {
  ranges_.clear(), required_.clear();
  for (const Symbol& symbol : table.symbols()) ranges_.push_back(symbol.range);
  for (const SymGuard& guard : table.guards())
    required_.push_back({sum(table, guard.terms), guard.relation, guard.bound});
}

bool SymTape::run(std::span<const int64_t> values) {
  VITRINE_CHECK(ranges_.empty() || ranges_.size() == values.size(), "one value a symbol");
  for (size_t i = 0; i < ranges_.size(); ++i)
    if (values[i] < ranges_[i].lo || values[i] > ranges_[i].hi) return false;
  int64_t* const r = registers_.data();
  bool lost = false;
  for (const Instruction& i : instructions_) {
    switch (i.op) {
      case Op::Symbol:
        r[i.to] = values[i.a];
        break;
      case Op::Add:
        lost |= __builtin_add_overflow(r[i.a], r[i.b], &r[i.to]);
        break;
      case Op::Mul:
        lost |= __builtin_mul_overflow(r[i.a], r[i.b], &r[i.to]);
        break;
      case Op::FloorDiv:
      case Op::Mod:
        if (lost || r[i.b] == 0 || (r[i.a] == kLowest && r[i.b] == -1)) return false;
        r[i.to] = i.op == Op::FloorDiv ? floor_div(r[i.a], r[i.b]) : floor_mod(r[i.a], r[i.b]);
        break;
      case Op::Min:
        r[i.to] = std::min(r[i.a], r[i.b]);
        break;
      case Op::Max:
        r[i.to] = std::max(r[i.a], r[i.b]);
        break;
    }
  }
  return !lost && std::ranges::all_of(required_, [&](const Requirement& must) {
    return answers(must.relation, r[must.place], must.bound);
  });
}

}  // namespace vitrine::ir
