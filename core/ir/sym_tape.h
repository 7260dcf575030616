// Expressions of one table as a list of instructions that computes each part of them once: for those that are
// asked for at many sets of values. A call of new sizes asks for hundreds.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/ir/sym.h"

namespace vitrine::ir {

class SymTape {
 public:
  // All of one table. Returns the place of its value; equal expressions share it.
  uint32_t add(const Sym& value);
  // The table's declared ranges and guards; false: not yet, or it has had more of these since.
  void require(const SymbolTable& table);
  bool requires_all(const SymbolTable& table) const {
    return ranges_.size() == table.symbols().size() && required_.size() == table.guards().size();
  }

  // values[i] is that of symbol i. false: what is required does not hold, or a value leaves 64 bits or
  // divides by 0.
  bool run(std::span<const int64_t> values);
  int64_t at(uint32_t place) const { return registers_[place]; }  // after a run that returned true

 private:
  enum class Op : uint8_t { Symbol, Add, Mul, FloorDiv, Mod, Min, Max };
  struct Instruction {
    Op op;
    uint32_t to, a, b;  // Symbol: a is its number
  };
  struct Requirement {
    uint32_t place;
    SymRelation relation;
    int64_t bound;
  };
  uint32_t constant(int64_t value);
  uint32_t emit(Op op, uint32_t a, uint32_t b);
  uint32_t atom(const SymbolTable& table, uint32_t number);
  uint32_t sum(const SymbolTable& table, const Polynomial& polynomial);

  std::vector<Instruction> instructions_;
  std::vector<int64_t> registers_;  // of constants: always the same
  std::vector<SymRange> ranges_;    // by symbol
  std::vector<Requirement> required_;
  std::map<int64_t, uint32_t> constants_;
  std::map<uint32_t, uint32_t> atoms_;
  std::map<Polynomial, uint32_t> sums_;
};

}  // namespace vitrine::ir
