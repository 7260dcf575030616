// What a segment runs for one set of sizes: its graph recorded for them, and the plan of that graph. A
// segment whose sizes are fixed has one; one with symbols makes an instance for sizes that it meets for the
// first time. Kernels are shared between instances (they take sizes as arguments), and nothing of Python's is
// interpreted again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/autograd/joint_at_sizes.h"
#include "core/capture/objects/owned.h"
#include "core/capture/segment/symbolic_graph.h"
#include "core/capture/trace/trace.h"
#include "core/recording/relower.h"
#include "core/runtime/compile.h"

namespace vitrine::capture {

struct Instance {
  std::vector<int64_t> key;                        // GuardTree::read_sizes
  int64_t uses = 0;                                // since meetings are counted (Segment::is_rare)
  torch_api::Lowering::Graphs graphs;              // evaluated: without an ATen graph
  std::shared_ptr<torch_api::JointAtSizes> joint;  // of Trace's, or of that of `evaluated`
  std::string no_joint;
  std::vector<int64_t> values;               // by symbol
  std::vector<PyRef> integers;               // by number (Symbolic::integers)
  std::shared_ptr<runtime::Plan> plan;       // or:
  PyRef training;                            // a region of vitrine._autograd.training
  std::shared_ptr<SymbolicGraph> evaluated;  // its graph is this one's for its sizes; null: it was recorded
  std::vector<int64_t> numbers;              // by symbol of `evaluated`: `values`, and strides

  bool has_graph() const { return graphs.captured != nullptr; }
  // Runs its graph through PyTorch. Made when it is first asked for.
  const torch_api::Replayer& replayer();

 private:
  std::unique_ptr<torch_api::Replayer> replayer_;
};

// What the inputs with symbols are in a call (GuardTree::read_sizes).
struct CallSizes {
  std::vector<int64_t> key, apart;
};
// The values of a trace's symbols in a call; `known` says which these are: others are computed from them.
std::vector<int64_t> symbol_values(const Symbolic& symbolic, const CallSizes& sizes,
                                   std::vector<bool>& known);
// The same, where the instance has computed the others.
std::vector<int64_t> symbol_values(const Symbolic& symbolic, const CallSizes& sizes,
                                   const Instance& instance);
// Symbolic::integers by number. false: one has no value.
bool make_integers(const Symbolic& symbolic, const std::vector<int64_t>& values, std::vector<PyRef>& out);

// The instance of the trace itself, for the sizes that it was made with.
std::shared_ptr<Instance> first_instance(const Trace& trace, const CallSizes& sizes);

// The trace's questions asked again, for sizes whose values by symbol these are: others that follow from the
// answers are put in. false of answered(): the trace does not serve them.
class Answers : public torch_api::NewSizes {
 public:
  Answers(const Symbolic& symbolic, std::vector<int64_t>& values, std::vector<bool>& known)
      : symbolic_(symbolic), values_(values), known_(known) {}
  int64_t integer(int32_t number) override;
  bool answered(size_t question, _object* answer) override;

 private:
  const Symbolic& symbolic_;
  std::vector<int64_t>& values_;
  std::vector<bool>& known_;
};

// What its plan computes: its graph, or the forward half of that. Throws InternalError where an expression
// has no value for its sizes.
ir::GraphPtr graph_to_compile(const Instance& instance);

using Tell = std::function<void(const runtime::Problem&)>;

// The plan for the instance's sizes: of its graph, or the forward half of that. The graph is compiled when it
// is first asked for. Null: the instance has none, or the compilation does not serve its sizes.
std::shared_ptr<runtime::Plan> sized_plan(Instance& instance, const runtime::CompileOptions& options,
                                          const std::function<bool()>& cancelled, const Tell& tell);
// The same of its backward graphs, each compiled when it is first asked for; options: the forward half's.
// Empty: there is none.
using SizedBackward = std::function<std::shared_ptr<runtime::Plan>(const torch_api::BackwardVariant&)>;
SizedBackward sized_backward(const Instance& instance, runtime::CompileOptions options, Tell tell);

// The instance that the expressions of a graph give for these sizes; null: they do not serve them.
std::shared_ptr<Instance> evaluated_instance(const Trace& trace, const std::shared_ptr<SymbolicGraph>& graph,
                                             const CallSizes& sizes);

// That of the trace's own sizes, as it is made for any others. Null: why says for what reason there is none.
std::shared_ptr<Instance> sized_instance(const Trace& trace, const CallSizes& sizes,
                                         const std::vector<PyObject*>& inputs, SymbolicGraphs& graphs,
                                         std::string& why);

struct NewInstance {
  std::shared_ptr<Instance> instance;  // null: none can be made
  bool never = false;                  // nor for other tensors of these sizes
};
// inputs: tensors by order of Trace::inputs. graphs: the trace's graphs with expressions, which are made when
// they are first asked for.
NewInstance new_instance(const Trace& trace, const CallSizes& sizes, const std::vector<PyObject*>& inputs,
                         SymbolicGraphs& graphs);

}  // namespace vitrine::capture
