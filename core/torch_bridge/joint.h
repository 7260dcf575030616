// Forward and backward of one recording: PyTorch's own backward, run over the recording's stand-ins,
// continues the ATen graph; what it reads of the forward part is what the forward graph hands over to the
// backward graph. Views of inputs are not handed over but made again, so that what is saved is the input
// itself.
#pragma once

#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/torch_bridge/python_ref.h"

namespace vitrine::torch_bridge {

struct Joint {
  // joint: inputs and constants, then tangents; its results are the program's, then the gradients.
  // forward: inputs and constants; its results are the program's, then those saved with Saved::made.
  // backward: everything in `saved`, in order, then the tangents; its results are the gradients.
  ir::GraphPtr joint, forward, backward;
  std::vector<Py> constants;  // real tensors; whoever runs the forward graph appends them to the inputs
  int inputs = 0;             // real ones, without constants

  struct Result {
    bool requires_grad = false;
  };
  std::vector<Result> results;
  std::vector<ir::TensorType> tangents;  // of the results that require grad, in order

  // viewed: an input of which views only are read. Autograd saves such views, so that a parameter whose
  // memory is replaced between forward and backward is still read where it was; one that is read itself is
  // not.
  struct Saved {
    enum class Kind : uint8_t { input, viewed, result, made } kind;
    int index;  // of the graph's inputs (constants included), of its results, or among those that are `made`
  };
  std::vector<Saved> saved;

  struct Gradient {
    int input;                  // whose gradient it is
    std::vector<int> tangents;  // what it depends on: undefined when none of these is defined
  };
  std::vector<Gradient> gradients;
};

}  // namespace vitrine::torch_bridge
