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
  std::string_view unit;   // what its count counts: "nodes"; "bytes" is shown as a size
  std::string_view about;  // one line for tooltips and --help
};

inline constexpr std::array<StageInfo, 17> kStages = {{
    {"source", "Source", 0, "source", "expressions", "the user's Python"},
    {"bytecode", "Bytecode", 0, "bytecode", "instructions",
     "what capture interprets, instruction by instruction"},
    {"captured", "Captured", 0, "graph", "nodes", "torch-level calls with the user's expressions"},
    {"aten", "ATen", 1, "graph", "nodes", "the operators PyTorch's dispatcher would run"},
    {"joint", "Joint", 1, "graph", "nodes", "forward and backward in one graph"},
    {"forward", "Forward", 1, "graph", "nodes", "the forward half after partitioning"},
    {"backward", "Backward", 1, "graph", "nodes", "the backward half after partitioning"},
    {"decomposed", "Decomposed", 2, "graph", "nodes", "composite operators written out"},
    {"optimised", "Optimised", 2, "graph", "nodes", "after the graph passes"},
    {"loops", "Loops", 2, "graph", "loop nests", "one loop nest an operator, before fusion"},
    {"fused", "Fused", 2, "graph", "groups", "loop nests grouped into kernels"},
    {"memory", "Memory", 2, "plan", "bytes", "buffers, their lifetimes and reuse"},
    {"kernels", "C++", 3, "kernel", "kernels", "generated source"},
    {"ir", "LLVM IR", 3, "kernel", "kernels", "optimised LLVM IR"},
    {"assembly", "Assembly", 3, "kernel", "kernels", "machine code"},
    {"launch", "Launch plan", 4, "plan", "launches", "what one call executes, in order"},
    {"timeline", "Run", 4, "run", "calls", "eager against compiled, measured"},
}};

// What a compilation takes time for beside its stages. The strip does not show it.
inline constexpr std::array<StageInfo, 2> kBesideStages = {{
    {"choices", "Measuring candidates", 3, "", "choices",
     "who computes a product, or which shape a kernel has"},
    {"recording", "Recording", 4, "", "kernels", "what this session took to write"},
}};
inline constexpr auto kTimedStages = [] {
  std::array<StageInfo, kStages.size() + kBesideStages.size()> out = {};
  size_t at = 0;
  for (const StageInfo& stage : kStages) out[at++] = stage;
  for (const StageInfo& stage : kBesideStages) out[at++] = stage;
  return out;
}();

// nullptr: none has that name.
inline constexpr const StageInfo* find_timed_stage(std::string_view name) {
  for (const StageInfo& stage : kTimedStages)
    if (stage.name == name) return &stage;
  return nullptr;
}

// Of a compilation whose kernels are a GPU's, the stages of its texts have other names.
inline constexpr std::string_view stage_title(const StageInfo& stage, bool gpu) {
  if (!gpu) return stage.title;
  return stage.name == "kernels"    ? "CUDA C++"
         : stage.name == "ir"       ? "PTX"
         : stage.name == "assembly" ? "SASS"
                                    : stage.title;
}

}  // namespace vitrine::session
