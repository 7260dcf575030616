// The stages of the pipeline, in order: one row each. Strip, film, command line and recorder all go by this
// table.
#pragma once

#include <array>
#include <string_view>

namespace vitrine::session {

struct StageInfo {
  std::string_view name;   // in the session file and on the command line
  std::string_view title;  // in the window
  int group;               // stages of one group stand together in the strip
  std::string_view shows;  // what a pane shows for it: source | bytecode | graph | kernel | plan | run
  std::string_view about;  // one line for tooltips and --help
};

inline constexpr std::array<StageInfo, 17> kStages = {{
    {"source", "Source", 0, "source", "the user's Python"},
    {"bytecode", "Bytecode", 0, "bytecode", "what capture interprets, instruction by instruction"},
    {"captured", "Captured", 0, "graph", "torch-level calls with the user's expressions"},
    {"aten", "ATen", 1, "graph", "the operators PyTorch's dispatcher would run"},
    {"joint", "Joint", 1, "graph", "forward and backward in one graph"},
    {"forward", "Forward", 1, "graph", "the forward half after partitioning"},
    {"backward", "Backward", 1, "graph", "the backward half after partitioning"},
    {"decomposed", "Decomposed", 2, "graph", "composite operators written out"},
    {"optimised", "Optimised", 2, "graph", "after the graph passes"},
    {"loops", "Loops", 2, "graph", "one loop nest an operator, before fusion"},
    {"fused", "Fused", 2, "graph", "loop nests grouped into kernels"},
    {"memory", "Memory", 2, "plan", "buffers, their lifetimes and reuse"},
    {"kernels", "C++", 3, "kernel", "generated source"},
    {"ir", "LLVM IR", 3, "kernel", "optimised LLVM IR"},
    {"assembly", "Assembly", 3, "kernel", "machine code"},
    {"launch", "Launch plan", 4, "plan", "what one call executes, in order"},
    {"timeline", "Run", 4, "run", "eager against compiled, measured"},
}};

}  // namespace vitrine::session
