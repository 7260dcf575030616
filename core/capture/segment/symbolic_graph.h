// A segment's graph recorded once with expressions for sizes: for new sizes its expressions are evaluated,
// and nothing is recorded again. What the recording asks of the sizes are guards of its own. Where they do
// not hold, another such graph is recorded, of which they do (an even length, and an odd one): a few of them
// at most. Where there is none, the program is recorded for the new sizes (relower.h).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/autograd/backward_variant.h"
#include "core/capture/objects/owned.h"
#include "core/capture/trace/trace.h"
#include "core/ir/sym_tape.h"
#include "core/runtime/compile.h"

namespace vitrine::capture {

// What new sizes are asked, as tapes: of the graph, and of the trace that it is of.
struct SizeTapes {
  ir::SymTape graph, trace;
  std::vector<uint32_t> strides, integers;  // where on them are SymbolicGraph::strides, Symbolic::integers
};

struct SymbolicGraph {
  ir::SymbolTable table;               // the trace's symbols, by the same numbers
  std::vector<ir::Sym> symbols;        // by symbol of the trace; of what no input tells, what it is
  std::vector<ir::TensorType> inputs;  // by order of the trace's inputs; of fixed sizes: no dims
  // Where the key of a call (CallSizes) has strides of these, and what they must be.
  std::vector<std::pair<size_t, ir::Sym>> strides;
  // Strides that follow from no size are symbols of this table, behind the trace's: where a key has them, and
  // of which inputs they are, by where a key has their sizes, and how many there are.
  std::vector<size_t> free_strides;
  std::vector<std::pair<size_t, size_t>> with_gaps;
  torch_api::Lowering::Graphs graphs;
  std::shared_ptr<const torch_api::Joint> joint;  // where the trace has one
  // What is compiled of it, each once.
  struct Compiled {
    std::shared_ptr<runtime::SizedPlans> plans;  // null: not yet, or it cannot be
    bool tried = false;
    std::string why;  // it cannot be: the reason
  };
  Compiled forward;
  std::unique_ptr<SizeTapes> tapes;  // made when sizes are first asked
  std::map<torch_api::BackwardVariant, Compiled> backward;
  PyRef region;     // RegionPlace::like
  std::string why;  // there is none: the reason
  int tries = 0;
  bool again = false;    // nor can be told yet: other tensors may tell
  bool differs = false;  // it is another program than that of its first sizes

  // Whether new sizes cost little: there is a program of it that numbers are put into.
  bool serves() const { return why.empty() && forward.plans; }

  SymbolicGraph() = default;
  SymbolicGraph(const SymbolicGraph&) = delete;
  ~SymbolicGraph();  // needs the GIL
};

using SymbolicGraphs = std::vector<std::shared_ptr<SymbolicGraph>>;

// A trace's program as it was recorded for some sizes: what its recording with expressions is at these.
struct SizedRecording {
  const torch_api::Lowering::Graphs& graphs;
  const torch_api::Joint* joint;    // null: it has none
  std::span<const int64_t> values;  // by symbol
  std::span<const int64_t> key;     // of the call at hand: strides that are others in it are symbols
};

// Whether two elements of an input lie at one place, as far as its sizes and strides tell.
bool may_overlap(std::span<const int64_t> key, size_t sizes_at, size_t dims);

// inputs: tensors by order of Trace::inputs, of any sizes. first: the first sizes that it is for.
std::shared_ptr<SymbolicGraph> record_symbolically(const Trace& trace, const std::vector<_object*>& inputs,
                                                   const SizedRecording& first);
// Whether one more could serve sizes that those that are there do not. values: of these, by symbol.
bool may_be_another(const SymbolicGraphs& graphs, std::span<const int64_t> values);

// "", or the first difference between a graph at its hints and another that has no expressions.
std::string difference_at_hints(const ir::Graph& symbolic, const ir::Graph& concrete);

}  // namespace vitrine::capture
