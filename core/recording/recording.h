// The state of one recording: traced tensors, what they stand for in both graphs, and the nodes so far. A
// mark taken before a call undoes everything that the call did.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/recording/lowering.h"
#include "core/recording/node_index.h"
#include "core/recording/replay.h"
#include "core/torch_api/overload.h"

namespace vitrine::torch_api {

// Ends a call that cannot become part of a graph.
struct Stop {
  Unsupported why;
};
[[noreturn]] void stop(std::string kind, std::string reason, std::string hint = "");

struct TracedTensor {
  PyRef object;
  ir::TensorType type;
  ir::Ref captured, aten;
  ir::NodeId entry = -1;  // an input's: the node by which it entered
  int storage = -1;
  int slot = -1;  // of the replay program; -1 until a call returned it
};

struct TracedStorage {
  const void* id = nullptr;
  PyRef first;               // keeps the storage alive
  std::vector<int> tensors;  // oldest first
  bool input = false, written = false;
  int64_t writes = 0;            // how often, those of what was taken back again included
  bool conjugated = false;       // it holds what eager conjugates when it is read, from the memory of another
  bool read_conjugated = false;  // ... of this one: what is written to either shows in both
  bool inference = false;        // it was made in inference mode
  bool in_parts = false;         // of an input whose sizes change: another such is in its memory
  PyRef constant;                // the real tensor, when this is a constant's storage
  ir::NodeId constant_copy = -1;  // the node that copies it, for constants made inside a call
};

// A view of a tensor that requires grad says so too, also when gradients are off and nothing is
// differentiated through it: then it matters only if it leaves.
bool requires_grad_by_base(_object* tensor);

class Recording {
 public:
  Recording() : ids_(std::make_shared<ir::NodeIds>()), program_(std::make_shared<ReplayProgram>()) {}

  // Every tensor is taken to be there, wherever it is.
  void as_if(std::optional<ir::Device> device) { as_if_ = device; }
  // The traced program is in an inference mode that it entered itself: what it makes are inference tensors.
  bool inference_mode = false;
  ir::SymbolTable* symbols = nullptr;  // sizes may be expressions over these
  bool stands_in = false;              // sizes that depend on data are recorded, too (operator_data.cpp)
  int64_t stand_in();                  // a size in the place of such a one
  const std::optional<ir::Device>& as_if() const { return as_if_; }

  // Tensors.
  int find(PyObject* tensor);  // by object, else by storage and geometry; -1: not of this recording
  int find_exact(PyObject* tensor) const;      // by object only
  int add(PyRef tensor, ir::TensorType type);  // a tensor that is new; its storage may be known
  TracedTensor& at(int index) { return tensors_[static_cast<size_t>(index)]; }
  const TracedTensor& at(int index) const { return tensors_[static_cast<size_t>(index)]; }
  TracedStorage& storage_of_tensor(int index) { return storages_[static_cast<size_t>(at(index).storage)]; }
  // A traced tensor of a type; wraps a new fake tensor. Errors: throws.
  int fresh(const ir::TensorType& type);
  void set_aten(int index, ir::Ref ref);
  void set_type(int index, ir::TensorType type);  // the object's sizes and strides have changed
  void mark_written(int index);
  void note_conjugated(int index, int of);
  void share_data(int index, int other);  // the first is in the other's memory from now on
  // The call at hand has just made it, of no tensor, and nobody but PyTorch has the object.
  bool is_of_a_factory(int index) const;
  void take_over(int index, PyObject* object);  // the object stands for the tensor from now on

  // Inputs and constants.
  int known_input(PyObject* real) const;  // -1: not yet an input
  PyRef inputs_by_object() const;         // dict: real tensor -> its fake tensor
  // as: its type, where its sizes are expressions.
  int input(PyObject* real, ir::NodeKind kind, const std::string& source, const ir::TensorType* as = nullptr);
  void name_input(int index, ir::NodeKind kind, const std::string& source);  // of a placeholder only
  int constant(PyObject* real);  // a real tensor that keeps its value
  int constant_made_inside(
      PyObject* real);  // of a call: what the program sees is a copy, for it may write to it
  // A real tensor of what a traced one holds, where that is known: a constant, or computed from constants
  // alone. A null object if it is not.
  PyRef known_value(int index);

  // Nodes.
  ir::NodeId next_id() { return ids_->next++; }
  void add_aten(ir::Node node);
  // Autograd follows the node: which of its tensor arguments, in order of ir::each_ref(), require grad.
  void follow(ir::NodeId node, std::vector<bool> arguments) { followed_[node] = std::move(arguments); }
  const std::map<ir::NodeId, std::vector<bool>>& followed() const { return followed_; }
  void begin_call(const ir::Origin& origin);
  void end_call() { aten_origin_ = {}; }
  ir::NodeId call_id() const { return call_id_; }
  // A node of the ATen graph so far, inputs and constants included; nullptr: none of it.
  const ir::Node* node(ir::NodeId id);
  // How many places an operator so far has found in the mask; 0: none has looked, or it may hold others now.
  int64_t found_places(int mask);
  void note_places(int mask, int64_t count);  // the next node has found them
  // Whether an operator so far may write to the memory that this node gives.
  bool may_be_written(ir::NodeId id);
  std::vector<ir::Node>& captured_nodes() { return captured_; }
  std::vector<ir::Node>& aten_nodes() { return aten_; }
  void cut_aten(size_t size);  // nothing behind its first `size` nodes was recorded
  ReplayProgram& program() { return *program_; }
  Lowering::Effects effects;

  // aten_results: those of the ATen graph.
  Lowering::Graphs finish(const std::vector<PyObject*>& results, const std::vector<ir::Ref>& aten_results);
  // Nodes of all inputs and constants, the constants' tensors, and the fake tensors of the inputs. false: an
  // input is no longer what it was (requires_grad_() on it, say).
  bool leading(std::vector<ir::Node>& nodes, std::vector<PyRef>& constants,
               std::vector<PyObject*>& inputs) const;
  // "", or which input is to autograd what it was not when it entered.
  std::string why_autograd_changed() const;
  // "", or that an input is written to whose gradient somebody may ask for.
  std::string why_write_differentiable() const;
  bool storage_requires_grad(int index) const;  // whether a tensor on the storage of this one does
  // A leaf that requires grad and is no input: autograd's graph begins inside of this one.
  bool is_made_leaf(int index) const;
  const std::shared_ptr<ir::NodeIds>& ids() const { return ids_; }

  struct Mark {
    size_t tensors, storages, captured, aten, undo, written, constants;
    ir::NodeId next_id;
    Lowering::Effects effects;
  };
  Mark mark() const;
  void undo(const Mark& mark);
  void undo_ids(const Mark& mark) { ids_->next = mark.next_id; }  // of a call that recorded no node
  // Whether some of the one lie in memory of some of the others.
  bool share_memory(const std::vector<int>& some, const std::vector<int>& others) const;
  // Tensors made since `mark` no longer stand for values of the graph, but those to keep.
  void forget_since(const Mark& mark, const std::vector<int>& keep);

 private:
  int find_alias(PyObject* tensor);
  PyRef computed_value(int index);
  std::string input_name(const std::string& source, ir::NodeKind kind);  // one that no other input has
  ir::TensorType type_here(PyObject* real) const;
  void undo_last();
  int add_on_storage(PyObject* real, const ir::TensorType& type);
  PyRef symbolic_on_storage(PyObject* real, const ir::TensorType& type);
  ir::TensorType type_now(PyObject* fake) const;
  ir::Ref add_input_node(ir::NodeKind kind, const std::string& source, const ir::TensorType& type,
                         std::vector<ir::Node>& to);
  int storage_index(const void* id, PyObject* first);
  std::unordered_map<ir::NodeId, ir::Ref> needless_copies(const std::vector<PyObject*>& results);

  struct Undo {
    int tensor;
    ir::Ref aten;
    ir::TensorType type;
  };
  std::shared_ptr<ir::NodeIds> ids_;
  std::shared_ptr<ReplayProgram> program_;
  std::deque<TracedTensor> tensors_;
  std::vector<TracedStorage> storages_;
  std::unordered_map<const void*, int> by_impl_, by_storage_;
  std::unordered_map<const void*, int> real_storages_;  // storage of a real input -> its fake tensor storage
  std::unordered_map<PyObject*, int> real_inputs_;
  std::unordered_map<std::string, int> input_names_;
  std::vector<PyRef> real_alive_;
  std::vector<ir::Node> inputs_, constants_, inner_constants_, captured_, aten_;
  std::vector<PyRef> constant_tensors_, inner_constant_tensors_;
  NodeIndex aten_index_, input_index_, constant_index_, inner_constant_index_;
  WrittenRoots written_roots_;    // of aten_
  WrittenMemory written_memory_;  // of aten_
  FoundPlaces found_places_;      // of aten_
  std::vector<Undo> undo_;
  std::vector<int> written_;  // storages, in the order they were first written
  std::map<ir::NodeId, std::vector<bool>> followed_;
  ir::NodeId call_id_ = -1;
  std::optional<ir::Device> as_if_;
  ir::Origin aten_origin_;
};

}  // namespace vitrine::torch_api
