// Symbolic integers as text, as in f32[s0,8*s0+1].
#include "core/ir/sym_arithmetic.h"

namespace vitrine::ir {

std::string SymbolTable::text(const SymAtom& atom) const {
  if (atom.op == SymOp::Symbol) return symbols_[atom.symbol].name;
  if (atom.op == SymOp::Min) return "min(" + text(atom.a) + "," + text(atom.b) + ")";
  if (atom.op == SymOp::Max) return "max(" + text(atom.a) + "," + text(atom.b) + ")";
  return "((" + text(atom.a) + ")" + (atom.op == SymOp::FloorDiv ? "//" : "%") + "(" + text(atom.b) + "))";
}

std::string SymbolTable::text(const Polynomial& sum) const {
  std::string result;
  for (const SymTerm& term : sum.terms) {
    std::string part;
    for (uint32_t number : term.atoms) part += (part.empty() ? "" : "*") + text(atoms_[number]);
    if (term.factor == -1) {
      part = "-" + part;
    } else if (term.factor != 1) {
      part = std::to_string(term.factor) + "*" + part;
    }
    result += (result.empty() || part[0] == '-' ? "" : "+") + part;
  }
  if (result.empty()) return std::to_string(sum.constant);
  if (sum.constant == 0) return result;
  return result + (sum.constant > 0 ? "+" : "") + std::to_string(sum.constant);
}

std::string SymbolTable::text(const Sym& value) const {
  return text(polynomial(value));
}

std::string SymbolTable::text(const SymGuard& guard) const {
  const char* signs[] = {" == ", " != ", " <= ", " >= "};
  return text(guard.terms) + signs[static_cast<int>(guard.relation)] + std::to_string(guard.bound);
}

}  // namespace vitrine::ir
