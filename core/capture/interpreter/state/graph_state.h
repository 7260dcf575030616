// The graph that is being recorded: its tensors, and what its calls mean for autograd.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/capture/interpreter/state/input_memory.h"
#include "core/capture/interpreter/state/module_paths.h"
#include "core/capture/trace/source.h"
#include "core/recording/lowering.h"

namespace vitrine::capture {

struct GraphState {
  std::unique_ptr<torch_api::Lowering> lowering;
  std::vector<const Source*> inputs;
  InputMemory input_memory;
  ModulePaths module_paths;
  std::unordered_map<const Source*, std::string> known_as;  // module paths of what came another way
  int64_t torch_calls = 0;
  // Where what needs gradients begins behind the last update of a tensor that requires grad; -1: there is
  // none. No graph has both: autograd must see what tensors hold when it begins.
  int64_t gradients_begin = -1;
  int64_t updates = 0, differentiable = 0;  // note_updates()
  bool differentiates = false;              // a backward pass is in the graph
  // A backward pass with create_graph stopped it, or one that goes to a tensor made in it.
  bool differentiates_again = false;
  bool speculated = false;     // the graph has a check of a branch that raises
  bool behind_writes = false;  // such a check behind a write to an input
  bool has_arrays = false;     // real arrays of NumPy's entered
  ir::Checkpoint checkpoint;   // the outermost one that runs now
  int32_t checkpoints = 0;     // how many there are in the graph
};

}  // namespace vitrine::capture
