// From the ATen graph to a program: one table, run in order. First come passes from graph to graph, then what
// makes loops of the last graph, kernels of the loops and a program of the kernels.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codegen/codegen_options.h"
#include "core/codegen/program_builder.h"
#include "core/fusion/fuse.h"
#include "core/ir/graph.h"

namespace vitrine::pipeline {

// What decides which rows run, beside the user's word. As it stands here every row runs.
struct Settings {
  bool matrix_f32 = true;         // products of f32 may use a GPU's matrix units
  bool convolutions_tf32 = true;  // and convolutions
  // Types in which the library's gelu makes NaN of infinity.
  bool library_gelu_f32 = true, library_gelu_bf16 = true, library_gelu_f16 = true;
  bool multiplies_bf16 = false, multiplies_f16 = false;  // the CPU has instructions for products of these
  bool matrices = true;                                  // kernels may use a GPU's matrix units
  bool graphs = true;  // a CUDA Graph launches small kernels and calls, so that they cost the host nothing
  bool forward_half = true;           // the graph computes what backward will read
  bool infers = true;                 // no backward pass belongs to the graph
  bool spares_memory = true;          // what is large is allocated when it is written
  std::vector<std::string> disabled;  // by name, by the user
};

// What is being made of a graph.
struct Build {
  ir::GraphPtr graph;
  const codegen::CodegenOptions& options;
  fusion::LoopProgram loops;
  std::optional<fusion::Readers> readers;  // of the loops as fusion finds them: no later row changes them
  fusion::FusedProgram fused;
  std::unique_ptr<codegen::ProgramBuilder> builder;
};

// Returns the same pointer if it changed nothing.
using Pass = ir::GraphPtr (*)(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

struct Row {
  std::string_view name, stage;     // stage: what is shown after it belongs to (core/session/stages.h)
  Pass pass = nullptr;              // either a pass over the graph
  void (*build)(Build&) = nullptr;  // or a part of what follows the last graph
  bool (*enabled)(const Settings&) = nullptr;  // nullptr: always
  std::string_view golden;                     // in tests/golden: a file, or a folder
  std::string_view sentence;       // what it does, for the film: "composite operators are written out"
  std::string_view required = "";  // why it cannot be switched off; "": it can
};
std::span<const Row> rows();
bool runs(const Row& row, const Settings& settings);

// Of a name that a user has given to switch a row off: why it cannot be; "": it can.
std::string cannot_disable(std::string_view name);

}  // namespace vitrine::pipeline
