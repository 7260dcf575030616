// Operators that draw random numbers on a GPU, as loop nests. PyTorch's kernels start a grid of threads; each
// draws from a stream of its own (Philox 4x32, ten rounds), four numbers a turn, and the generator's offset
// goes on by as many as one thread may have drawn. Which number an element gets follows from its position and
// the grid, so that any kernel can draw the number that PyTorch's would have given it.
// J. Salmon, M. Moraes, R. Dror, D. Shaw: Parallel random numbers: as easy as 1, 2, 3, 2011.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fusion/loops.h"

namespace vitrine::fusion {

// What one operator draws and computes, over all dims of its first output.
struct Drawing {
  std::vector<Operand> operands;
  std::vector<Statement> body;
  int64_t advance = 0;  // of the generator's offset
};

// nullopt: PyTorch's kernel draws; `why` says why. Its tensors have elements, and are on one GPU.
std::optional<Drawing> drawing(const LoopProgram& program, const ir::Node& node, const RngLayout& layout,
                               std::string& why);

}  // namespace vitrine::fusion
