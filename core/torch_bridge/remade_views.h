// Results that are views of inputs or of other results: a compiled region does not give them. They are made
// again behind it, from what they view and by the same operators, where autograd sees it: each is a view of
// the right tensor and has eager's grad_fn, and what is written to one shows in the other.
#pragma once

#include <memory>
#include <vector>

#include "core/torch_bridge/op_call.h"
#include "core/torch_bridge/recording.h"

namespace vitrine::torch_bridge {

// The program's results, told apart.
struct RemadeViews {
  bool as_they_are = true;           // the region gives all of them; nothing is made again
  std::vector<PyObject*> region;     // stand-ins of what the region gives; borrowed
  std::vector<ir::Ref> region_refs;  // the same, in the ATen graph
  std::vector<ir::Node> steps;       // the views' operators, in order
  // By result of the program: what a step gives, an input or constant, or a result of the region.
  std::vector<ir::Ref> results;
};

// Errors: two results share memory in a way that views of one tensor do not, or a view was made where
// autograd does not follow it.
Result<RemadeViews> remade_views(Recording& r, const std::vector<PyObject*>& results);

// Carries out the steps. The GIL must be held.
class ViewProgram {
 public:
  // leading: the nodes of the inputs and constants. Errors: an operator without a Python form.
  static Result<std::unique_ptr<ViewProgram>> make(const RemadeViews& views,
                                                   const std::vector<ir::Node>& leading);

  // given: inputs and constants, then the region's results; borrowed. The program's results, new references.
  // false: a Python error is set.
  bool run(const std::vector<PyObject*>& given, std::vector<PyObject*>& results) const;

 private:
  struct Step {
    std::unique_ptr<PreparedOp> op;
    size_t first = 0, outputs = 0;  // slots of what it gives
  };
  std::vector<Step> steps_;
  std::vector<int32_t> results_;  // slots
  size_t given_ = 0, slots_ = 0;
};

}  // namespace vitrine::torch_bridge
