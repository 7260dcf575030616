// How a joint graph is made; of the files that are it only: joint, joint_points, before_derivative,
// borrowed_operator, chosen_attention and shared_saves.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/autodiff/derive.h"
#include "core/autograd/joint.h"
#include "core/passes/attention/fuse_attention.h"
#include "core/recording/lowering_state.h"

namespace vitrine::torch_api {

// A joint graph in pieces, in execution order.
struct JointParts {
  std::vector<ir::Node> leading, forward, tangents, backward;  // leading: inputs and constants
  std::vector<ir::Ref> results, gradients;
  std::map<ir::NodeId, std::vector<bool>> followed;  // Recording::followed(), of `forward`
  // Fake tensors: results that require grad, the gradients that they get, and the inputs that want one.
  std::vector<PyObject*> outputs, wanted;
  std::vector<PyRef> given;
  std::vector<int> input_of;  // by wanted input: its place among the inputs
  // By gradient, where PyTorch's own backward gave it: the outputs that autograd's graph leads from to its
  // input.
  std::vector<std::vector<int>> outputs_behind;
  // Results that others may be computed from.
  struct Point {
    PyObject* object;  // a fake tensor
    ir::Ref value;
    int tangent, result;    // one of these, or -1: its tangent; a view: its place among the program's results
    ir::NodeId whole = -1;  // what gives its gradient; -1: it gets none
    size_t before = 0;      // how many of Joint::complete eager has when it comes by
  };
  std::vector<Point> points;
  std::vector<std::vector<int>> passed;  // by tangent: the points between its result and the inputs
};

std::vector<int> numbers_of(PyObject* list);

// Only these points are left.
void keep_points(JointParts& parts, const std::vector<bool>& keep);
// Those that some result passes.
void keep_passed(JointParts& parts);

// What is recorded while this lives is no part of the recording, and what goes wrong then stops nothing.
class Aside {
 public:
  Aside(Recording& recording, DispatchState& dispatch)
      : recording_(recording), dispatch_(dispatch), mark_(recording.mark()) {}
  ~Aside() {
    dispatch_.stopped.reset();
    PyErr_Clear();
    recording_.undo(mark_);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  const Recording::Mark& mark() const { return mark_; }

 private:
  Recording& recording_;
  DispatchState& dispatch_;
  const Recording::Mark mark_;
};

class JointMaker {
 public:
  explicit JointMaker(Lowering& lowering)
      : state_(lowering.state()),
        recording_(lowering.state().recording),
        dispatch_(lowering.state().dispatch),
        mode_(lowering.state().mode.get()) {}
  // The joint graph, divided. Errors: why there is none. May throw Stop.
  Status join(const std::vector<PyObject*>& results, const ViewReplay& views, const GradientWishes& how,
              Joint& out, JointParts& parts);

 private:
  Status prepare(const ViewReplay& views, Joint& out, JointParts& parts);
  void find_points(const std::vector<PyObject*>& results, const ViewReplay& views, JointParts& parts);
  // What PyTorch's own backward (vitrine._autograd.training.Borrowed) says of the points.
  void note_points(PyObject* borrowed, Joint& out, JointParts& parts);
  Status cut(Joint& out, JointParts& parts);
  // The forward program before its passes.
  struct PlainForward {
    std::vector<ir::Node> forward;
    std::vector<ir::Ref> results;
  };
  // before_derivative.cpp. Empty: the program is as it was.
  std::optional<PlainForward> rewrite_forward(const GradientWishes& how, JointParts& parts);
  void lay_as_inputs(const Joint& out, JointParts& parts);
  // By the gradient rules. Errors: what they do not cover.
  Status derive(const GradientWishes& how, Joint& out, JointParts& parts);
  // PyTorch's backward of one operator, run over fake tensors of its own; the recording stays as it is.
  Result<autodiff::Borrowed> borrow_operator(const autodiff::BorrowCall& call);
  // chosen_attention.cpp. The recording stays as it is.
  std::optional<passes::ChosenAttention> choose_attention(const passes::AttentionToDerive& call);
  std::optional<passes::ChosenAttention> asked(const passes::AttentionToDerive& call,
                                               const Recording::Mark& mark);
  // Runs PyTorch's backward over the fake tensors, which continues the graph.
  Status borrow(Joint& out, JointParts& parts);

  const Lowering::State& state_;
  Recording& recording_;
  DispatchState& dispatch_;
  PyObject* mode_;
};

}  // namespace vitrine::torch_api
