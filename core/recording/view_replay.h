// Results that are views, be it of inputs, of other results or of what nobody else sees: a compiled region
// does not give them. They are made again behind it, from what they view and by the same operators, where
// autograd sees it: each is a view of the right tensor and has eager's grad_fn, and what is written to one
// shows in the other.
#pragma once

#include <vector>

#include "core/recording/recording.h"

namespace vitrine::torch_api {

// The program's results, told apart.
struct ViewReplay {
  bool as_they_are = true;            // the region gives all of them; nothing is made again
  std::vector<PyObject*> region;      // fake tensors of what the region gives; borrowed
  std::vector<ir::Ref> region_refs;   // the same, in the ATen graph
  std::vector<ir::Ref> region_roots;  // the same, as `steps` and `results` name them
  std::vector<int32_t> versions;      // of the same: seen_version()
  std::vector<ir::Node> steps;        // the views' operators, in order
  // By result of the program: what a step gives, an input or constant, or a result of the region.
  std::vector<ir::Ref> results;
  std::vector<int32_t> data;  // by result: -1, or it is that one's `.data`, which was written to so often
};

// Which views are made again: those that share memory with an input or another result, or every one.
enum class ReplayedViews : uint8_t { shared, all };

// differentiated: autograd follows the program. A view that nothing else shares memory with and that cannot
// be made again is a result as any other. Errors: two results share memory in a way that views of one tensor
// do not, or a view was made where autograd does not follow it.
Result<ViewReplay> view_replay(Recording& r, const std::vector<PyObject*>& results, bool differentiated,
                               ReplayedViews which = ReplayedViews::all);

// How often eager counts a tensor as written to; -1: it is not of the program's making, or has no count.
int32_t seen_version(Recording& r, PyObject* tensor);

}  // namespace vitrine::torch_api
