// Records one segment. Every torch call of the traced program runs once, here, on storage-less tensors that
// carry the logical device's dispatch keys, under one dispatch mode of ours that answers shapes itself
// (operator table first, PyTorch's own kernel on zeros for what has no row). It yields the torch-level node
// and its ATen nodes together.
//
// An ATen node's args are the schema's positional parameters, all of them, defaults filled in; its kwargs are
// the keyword-only ones that are not None. A node that writes an argument hands it back as its output, which
// stands for the tensor from then on. An undefined output has the type f32[0]. Fake tensors raise when their
// data is touched in any way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

struct _object;

#include "core/torch_api/attention_choice.h"
#include "core/torch_api/autocast.h"

namespace vitrine::torch_api {

struct ReplayProgram;
class ViewProgram;  // core/recording/view_program.h

// Why a call cannot become part of a graph. kind: a row of core/capture/trace/break_kinds.h.
struct Unsupported {
  std::string kind, reason, hint;
};

// The int that stands in for the next size or int that depends on data; last: the one before, or 0.
int64_t next_stand_in(int64_t last);

class Lowering {
 public:
  // Needs the GIL; nothing is installed until call(). as_if: every tensor is taken to be on that device, to
  // compile for a GPU that is not here, of this architecture ("sm_90").
  explicit Lowering(std::optional<ir::Device> as_if = {}, std::string architecture = "");
  ~Lowering();
  Lowering(const Lowering&) = delete;

  // A storage-less fake tensor for a real tensor that enters the graph (one per real tensor; tensors that
  // share storage share a fake tensor storage, so aliasing is seen). New reference. Errors: subclass, sparse,
  // other device, overlapping strides ...
  Result<_object*> input(_object* tensor, ir::NodeKind kind, const std::string& source);
  // What people call an input that entered as a placeholder. Its kind follows where its sizes are plain.
  void name_input(_object* traced, ir::NodeKind kind, const std::string& source);
  // The same with expressions for sizes and strides, whose hints are the tensor's. From now on what the
  // program computes of them stays an expression; what would fix one is a guard of its table, or unsupported.
  Result<_object*> symbolic_input(_object* tensor, ir::NodeKind kind, const std::string& source,
                                  const ir::TensorType& as);
  // From now on calls whose results have sizes that depend on data are recorded, with sizes that stand in for
  // those of a run. Whoever runs the program checks what was concluded from these.
  void allow_stand_ins();
  // The same of an int read from a tensor: the int that stands in for it.
  int64_t stand_in();
  // Ints that calls are given may be expressions of this table, also where no size of an input is one.
  void take_symbols(ir::SymbolTable& table);
  // From now on attention on a GPU is computed by a kernel that plans nothing for a size: cuDNN's takes
  // milliseconds for each that is new. One kernel is chosen, for all calls.
  void for_any_size();
  // A small tensor whose value is known and fixed (torch.tensor(3) inside the function); kept alive by the
  // graph.
  Result<_object*> constant(_object* tensor);

  // callable(*args), a question about autocast or the ways of computing attention, or a change of them, asked
  // of the traced program's state, which is its own. A change becomes a captured node, but for autocast's
  // depth of nesting: entering and leaving are the caller's to repeat. New reference; nullptr: a Python error
  // is set.
  _object* state_call(const std::string& name, _object* callable, _object* args, const ir::Origin& origin);
  AutocastState autocast() const;
  AttentionChoice attention() const;

  // The program enters or leaves inference mode; PyTorch is not told, so that gradients are to be off
  // meanwhile.
  void set_inference_mode(bool on);
  bool is_inference(_object* traced) const;  // its memory was made in inference mode

  bool is_traced(_object* o) const;             // a tensor of this recording
  ir::Ref captured_ref(_object* traced) const;  // its value in the captured graph
  bool is_written(_object* traced) const;       // something was recorded that writes to its storage
  int64_t times_written(_object* traced) const;
  // Eager's is conjugated when it is read; this one holds the conjugate: nobody outside may see it.
  bool is_conjugated(_object* traced) const;
  bool is_made_leaf(_object* traced) const;  // requires grad, and neither entered nor was computed
  // A real tensor of what a traced one holds, where that follows from constants of the program alone, for the
  // sizes at hand. New reference; nullptr: its value exists only when the program runs.
  _object* known_value(_object* traced) const;

  // Runs callable(*args, **kwargs), where traced tensors stand for tensors anywhere inside args (tuples,
  // lists, dicts, slices). `name` is how the call is written: "torch.nn.functional.linear", "Tensor.view",
  // "operator.add". On success: new reference to what it returned (traced tensors inside), nodes appended to
  // both graphs. `unsupported` set: nothing was recorded and nothing happened. Python error set: the call
  // itself raises (user's error).
  struct Outcome {
    _object* value = nullptr;
    std::optional<Unsupported> unsupported;
    bool raised = false;
    int32_t captured_nodes = 0;  // ids of the new captured nodes are contiguous, the last ones
    size_t operators = 0;        // ATen's, that it is made of
  };
  // A call by this name has its first argument take over the memory of the second, of the same type.
  static constexpr std::string_view kSetData = "Tensor.data.__set__";
  Outcome call(const std::string& name, _object* callable, _object* args_tuple, _object* kwargs_or_null,
               const ir::Origin& origin);

  // callable(*args) was asked of traced tensors without being recorded, and the program depends on the
  // answer: who records the program again for other sizes (relower.h) asks again, at the same place. Returns
  // the question's position.
  size_t note_question(_object* callable, _object* args_tuple);
  // The same, and the answer depends on data: the call that runs the program has to ask. Not for relower().
  size_t note_question_of_data(_object* callable, _object* args_tuple);
  // The same of callable(known_value(traced)).
  size_t note_question_of_value(_object* callable, _object* traced);

  // The program so far. results: traced tensors that the segment needs afterwards. Both graphs have these
  // results, in order. Their inputs() are first the real inputs, in order of input() (same ids in both), then
  // constants: whoever runs the ATen graph appends `constants` to the real inputs. (The captured graph has
  // only those that constant() made, which come first.)
  struct Graphs {
    ir::GraphPtr captured, aten;
    std::vector<_object*> constants;              // real tensors, kept alive by `replay`
    std::shared_ptr<const ReplayProgram> replay;  // what Replayer calls; destroyed under the GIL
    // Makes the results of the ATen graph's: null, they are the same ones.
    std::shared_ptr<const ViewProgram> views;
    std::vector<int32_t> versions;  // that eager leaves on them, by result of the ATen graph; -1: not known
  };
  // How results that share memory are given: as the graph computes them; made again behind it from what they
  // view, where nothing requires grad; or so where autograd follows them (if can_follow()).
  enum class Views : uint8_t { given, apart, followed };
  Graphs finish(const std::vector<_object*>& results, Views views = Views::given);
  // No result requires grad, but some may be detached views of what does: all of these can be made again.
  bool can_follow(const std::vector<_object*>& results) const;

  // Whether anything recorded writes to an input's storage, draws random numbers, ... (for the segment's
  // transaction)
  struct Effects {
    bool writes_inputs = false, random = false;
    int64_t draws = 0;  // operators that draw
    bool needs_grad =
        false;  // with gradients on a call returned a tensor that requires grad, or a result does
    // How many operators wrote to an input's memory that requires grad, with gradients off; and how many
    // tensors that require grad calls returned, with gradients on.
    int64_t updates = 0, differentiable = 0;
    bool asks_autograd = false;  // with gradients on a call was given a tensor that requires grad
    bool makes_leaf = false;     // a leaf that requires grad is made, and is no input
    bool sets_data = false;      // a tensor takes over another's memory
    int64_t last_stand_in = 0;   // the last size or int that stands for one of a run, which depends on data
    // Of a GPU that is not here: what was recorded operator by operator, where PyTorch may have a kernel.
    std::string chosen_on_gpu;
  };
  Effects effects() const;
  bool is_empty() const;             // nothing was recorded so far
  ir::NodeId last_captured() const;  // the node of the last call; -1: there is none

  struct State;  // lowering_state.h
  State& state() { return *state_; }

 private:
  Result<_object*> entered(_object* tensor, ir::NodeKind kind, const std::string& source,
                           const ir::TensorType* as);
  std::unique_ptr<State> state_;
};

// Runs a captured graph through PyTorch, node by node, under whatever autograd state is on: the path for
// calls that need gradients, the fallback when compilation fails and the reference of a checked run. The GIL
// must be held.
class Replayer {
 public:
  // integers: by number (symbolic_int.h), where they are others than at capture.
  explicit Replayer(Lowering::Graphs graphs, std::vector<_object*> integers = {});
  ~Replayer();
  // inputs: by order of graph->inputs(), borrowed. On success: new references by order of results. false:
  // Python error is set.
  bool run(const std::vector<_object*>& inputs, std::vector<_object*>& outputs) const;
  const ir::GraphPtr& graph() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vitrine::torch_api
