// A captured graph as a torch.fx.GraphModule, for a backend of the user's own.
#pragma once

#include <string>
#include <vector>

#include "core/capture/objects/owned.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

// What the graph has of sizes and ints that may be others in the next call.
struct BackendSizes {
  const Symbolic* symbolic = nullptr;  // null: all sizes are fixed
  std::vector<int32_t> symbols;        // that the graph depends on, and that are its inputs
  std::vector<int32_t> fixed;          // that turned out to be the same in every call
  // By input: its sizes, where they or its strides may change; null where neither does.
  std::vector<const Symbolic::Input*> inputs;
};
BackendSizes backend_sizes(const Trace& trace);

// What a backend made of a graph.
struct BackendCode {
  PyRef callable;                             // of the symbols, then of the graph's inputs
  std::vector<std::vector<ir::Sym>> strides;  // by input, where they may change: what they must be
};

// Calls backend(graph_module, example_inputs) as torch.compile does. The module's placeholders are the
// symbols that are not fixed, then the graph's inputs (arguments, parameters and buffers; constants are
// attributes of the module), its output is the tuple of the graph's results. What the backend asks of the
// sizes becomes guards of the trace's symbol table. Null: a Python error is set, the backend's or ours.
BackendCode compile_by_backend(PyObject* backend, const Trace& trace, const BackendSizes& sizes,
                               const std::vector<PyRef>& example_inputs);

// A trace with sizes that depend on data (Trace::stands_in), as code that Vitrine compiles in pieces, around
// the calls that give such sizes. settings: as vitrine.compile was given them. The code is called with the
// symbols of `sizes`, then the graph's inputs. It returns the graph's results, then the ints by order of the
// symbols that the trace's questions define; it raises a RuntimeError that begins with kSpeculated where the
// trace was concluded from what is otherwise now. Null: a Python error is set.
PyRef compile_in_pieces(const Trace& trace, const BackendSizes& sizes, PyObject* settings);
// Runs it: `values` has those of the inputs' symbols, and gets the others. `results` as of run_by_backend().
bool run_in_pieces(PyObject* pieces, const std::vector<PyObject*>& inputs, const Symbolic& symbolic,
                   size_t expected, std::vector<int64_t>& values, std::vector<PyObject*>& results);

// Calls what a backend returned. On success: new references, one a result of the graph. false: a Python error
// is set.
bool run_by_backend(PyObject* compiled, const std::vector<PyObject*>& inputs, size_t expected,
                    std::vector<PyObject*>& results);

}  // namespace vitrine::capture
