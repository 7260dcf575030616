#include "app/cli/show.h"

#include "app/cli/show_parts.h"

namespace vitrine::cli {

const std::vector<ShowRow>& show_table() {
  static const std::vector<ShowRow> rows = {
      {"source", "the user's Python files", show_source},
      {"bytecode", "instructions of each captured function", show_bytecode},
      {"steps", "what capture did at each instruction", show_steps},
      {"captured", "torch-level graph", show_graph},
      {"aten", "ATen graph", show_graph},
      {"joint", "forward and backward in one graph", show_graph},
      {"partition", "what backward reads of forward: saved, or computed again, and why", show_partition},
      {"forward", "forward half", show_graph},
      {"backward", "backward half", show_graph},
      {"decomposed", "composite operators written out", show_graph},
      {"optimised", "after the graph passes", show_graph},
      {"loops", "loop nests before fusion", show_graph},
      {"fused", "loop nests grouped into kernels", show_graph},
      {"decisions", "every considered fusion with its verdict", show_decisions},
      {"memory", "buffers, lifetimes and reuse", show_memory},
      {"kernels", "generated C++ or CUDA C++; registers, spills and occupancy of a GPU's kernels",
       show_kernel_text},
      {"ir", "LLVM IR or PTX of each kernel", show_kernel_text},
      {"assembly", "machine code of each kernel; SASS of a GPU's", show_kernel_text},
      {"remarks", "what the kernel compiler said about its lines", show_remarks},
      {"choices", "who could compute each matrix product, and how long each took", show_choices},
      {"launch", "the launch plan", show_launch},
      {"roofline", "each kernel's bytes and operations a second against the machine's", show_roofline},
      {"counters", "what the GPU's own counters told of each kernel, beside its counted bytes",
       show_counters},
      {"samples", "at which lines of each kernel the GPU's warps wait, and for what", show_samples},
      {"timeline", "eager above compiled, slice by slice", show_timeline},
      {"breaks", "graph breaks with reason and hint", show_breaks},
      {"guards", "what is checked at each call", show_guards},
      {"symbols", "sizes and ints that may change, and what is asked of them", show_symbols},
      {"recompilations", "which guard failed, with both values", show_recompilations},
      {"calls", "each entry into a segment", show_calls},
      {"accuracy", "compiled outputs against eager", show_accuracy},
      {"messages", "errors, warnings and notes", show_messages},
      {"stages", "time and size of each stage", show_stages},
      {"runs", "the runs of the session", show_runs},
  };
  return rows;
}

Result<std::string> show(const session::Reader& s, const std::string& stage, const ShowOptions& options) {
  if (!options.compilation.empty()) {
    std::string known;
    bool found = false;
    for (const auto& c : s.all<session::CompilationRow>()) {
      found = found || c.label == options.compilation;
      known += (known.empty() ? "" : ", ") + c.label;
    }
    if (!found) {
      return Error{"There is no compilation " + options.compilation + " in this session.",
                   known.empty() ? "Nothing was compiled." : "It has: " + known + ".", s.path()};
    }
  }
  std::string known;
  for (const ShowRow& row : show_table()) {
    if (row.name == stage) return row.print(s, options, row.name);
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return Error{"There is no stage \"" + stage + "\".", "Stages: " + known + ".", ""};
}

}  // namespace vitrine::cli
