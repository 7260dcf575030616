// A captured graph as a torch.fx.GraphModule, for a backend of the user's own.
#pragma once

#include <string>
#include <vector>

#include "core/capture/segment/owned.h"
#include "core/torch_bridge/lowering.h"

namespace vitrine::capture {

// An int that the graph's calls use and that may be another one in the next call.
struct OpenInt {
  int32_t number = 0;              // Symbolic::integers
  std::string expression, source;  // "s0", "L['n']"; source: "" of a computed one
  Owned example;
};

// Calls backend(graph_module, example_inputs) and returns what it returned, which can be called. The module's
// placeholders are the open ints, then the graph's inputs (arguments, parameters and buffers; constants are
// attributes of the module), its output is the tuple of the graph's results. Null: a Python error is set, the
// backend's or ours.
Owned compile_by_backend(PyObject* backend, const torch_bridge::Lowering::Graphs& graphs,
                         const std::vector<OpenInt>& open_ints, const std::vector<Owned>& example_inputs);

// Calls what a backend returned. On success: new references, one a result of the graph. false: a Python error
// is set.
bool run_by_backend(PyObject* compiled, const std::vector<PyObject*>& inputs, size_t expected,
                    std::vector<PyObject*>& results);

}  // namespace vitrine::capture
