// A plain program of one whose numbers are symbolic (core/ir/sym.h), for one call's sizes: texts, steps and
// buffers stay, numbers get their values.
#pragma once

#include <span>
#include <vector>

#include "core/codegen/schedule/program.h"
#include "core/ir/sym_tape.h"

namespace vitrine::codegen {

// Knows which numbers of a program change, and how. The symbols' table must live as long. Not for two threads
// at once.
class Instances {
 public:
  explicit Instances(Program program);
  Instances(const Instances&) = delete;
  Instances& operator=(const Instances&) = delete;

  // values[i] is that of symbol i; the table's guards must hold for them (SymbolTable::holds). What is
  // returned has these numbers until the next call.
  const Program& at(std::span<const int64_t> values);
  size_t changing() const { return places_.size(); }
  // Before the first at(): the program with its expressions.
  const Program& symbolic() const { return program_; }

 private:
  struct Place {
    ir::Sym* number;  // of program_
    uint32_t on_tape;
  };
  Program program_;
  std::vector<ir::Sym> expressions_;  // each once
  ir::SymTape tape_;
  std::vector<Place> places_;
};

// The same once.
Program instantiate(const Program& program, std::span<const int64_t> values);

}  // namespace vitrine::codegen
