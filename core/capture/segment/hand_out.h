// A segment's compiled program with all that it was called with, for whoever takes it out of the process.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/ir/graph.h"

struct _object;

namespace vitrine::codegen {
struct Program;  // core/codegen/schedule/program.h
}

namespace vitrine::capture {

struct HandedOut {
  const ir::Graph& graph;
  const codegen::Program& program;
  const ir::SymbolTable* table;      // of its expressions; null: sizes are numbers
  std::span<_object* const> inputs;  // tensors by order of the graph's inputs
  std::string why_fixed;             // sizes were to be symbols, and are none; "": they were not
};
using ProgramTaker = std::function<void(const HandedOut& program)>;

// The questions that one table was asked, and whose answers its guards are, asked of another with the same
// symbols and hints. Errors: an expression that the other does not read.
Status ask_again(const ir::SymbolTable& from, ir::SymbolTable& to);

}  // namespace vitrine::capture
