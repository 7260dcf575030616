// Forward and backward of one recording. The derivative is written by core/autodiff's gradient rules, or by
// PyTorch's own backward, which run over the recording's fake tensors continues the ATen graph; core/autodiff
// divides what comes out.
#pragma once

#include <string>
#include <vector>

#include "core/autodiff/cut_results.h"
#include "core/autodiff/derive.h"
#include "core/autodiff/partition.h"
#include "core/autograd/gradient_wishes.h"
#include "core/recording/lowering.h"
#include "core/recording/view_program.h"
#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

struct Joint {
  // Why the derivative is PyTorch's own: "aten.x.default has no gradient rule"; "": it is ours.
  std::string borrowed;
  std::vector<std::string> borrowed_operators;  // of a derivative of ours: those that have PyTorch's
  ir::GraphPtr joint;  // inputs and constants, then tangents; its results are `results`, then the gradients
  size_t derivative_begins =
      0;  // place of its first node of the derivative: those come in the engine's order
  autodiff::Partition halves;
  std::vector<PyRef> constants;  // real tensors; whoever runs the forward graph appends them to the inputs
  int inputs = 0;                // real ones, without constants

  struct Result {
    bool requires_grad = false;
    std::string node;      // what autograd would have made it with: "ReluBackward0"
    int64_t place = 0;     // among the outputs of that
    int32_t version = -1;  // as in Lowering::Graphs
  };
  std::vector<Result> results;  // of the forward graph
  // How the program's results follow from inputs, constants and `results`; null: they are `results`.
  std::shared_ptr<const ViewProgram> views;
  std::vector<ir::TensorType> tangents;  // of the results that require grad, in order
  std::vector<int> made;                 // the tangents in the order in which the program made their results
  // Results from which others are computed.
  autodiff::Cut cut;
  std::vector<int> points;  // by point of the cut: its slot (ViewProgram); inputs, constants, then `results`
  std::vector<size_t> before;  // by point of the cut: how many of `complete` eager has when it comes by
  // By tangent: those that cannot come after it in another backward pass, unless the graph is kept. Where
  // there is a cut, a tangent stands for its piece here and below.
  std::vector<std::vector<int>> conflicts;

  // By value handed over: the tangents behind whose results an operator reads it.
  std::vector<std::vector<int>> readers;

  struct Gradient {
    int input;                                  // whose gradient it is
    std::vector<int> tangents;                  // what it depends on: undefined when none of these is defined
    std::vector<autodiff::GradientTerm> terms;  // of a derivative of ours
  };
  std::vector<Gradient> gradients;
  bool reentrant = false;     // a checkpoint raises eager's error in a backward pass for some inputs only
  std::vector<int> complete;  // inputs that have one, in the order in which eager's backward is done with it
};

// Forward and backward of the program so far; to be asked for before Lowering::finish(), and without a trace
// in what that gives. results: traced tensors. Errors: why the program has no such graph.
Result<std::shared_ptr<const Joint>> make_joint(Lowering& lowering, const std::vector<_object*>& results,
                                                const GradientWishes& how);

// Of a program with a backward pass in it, by result: whether it requires grad and its graph is gone, so that
// another backward raises. To be asked for before Lowering::finish(), and without a trace in what that gives.
// in_use: nobody looks at the others. Errors: why what the program leaves behind needs autograd.
Result<std::vector<bool>> find_consumed(Lowering& lowering, const std::vector<_object*>& results,
                                        const std::vector<bool>& in_use);

}  // namespace vitrine::torch_api
