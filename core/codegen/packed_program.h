// A program as bytes, and back: what is kept of a compilation for later processes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codegen/schedule/program.h"
#include "core/ir/packing.h"

namespace vitrine::codegen {

// Without what only a session shows of it (lines, nodes and spaces of kernels), and without its counts of
// writes, which are its caller's. table: of its expressions, with what has been added since `known`; null: it
// has none. Errors: what cannot be kept.
Result<std::string> packed(const Program& program, const ir::SymbolTable* table = nullptr,
                           ir::TableExtent known = {});

struct Unpacked {
  Program program;
  std::vector<ir::SymGuard> guards;  // what it asks of sizes: not yet the table's
};
// table: of the same symbols, as it was when the program was packed but for their values; it gets the
// program's expressions. Errors: bytes that packed() does not give, or a program of which a part names what
// is not there.
Result<Unpacked> unpacked_program(std::string_view bytes, ir::SymbolTable* table = nullptr);

// "", or in what it takes or gives other tensors than the graph.
std::string misfit(const Program& program, const ir::Graph& graph);

// "", or why a plan cannot be made of it for the sizes that are its numbers, or its expressions' values:
// memory that overlaps the end of what holds it, or of more bytes than its parts have.
std::string unsound_memory(const Program& program);

}  // namespace vitrine::codegen
