// The dispatch mode under which traced calls run: it answers each ATen operator with fake tensors of the
// right type and records a node.
#pragma once

#include <optional>

#include "core/recording/recording.h"

namespace vitrine::torch_api {

// Shared by a Lowering and its mode object.
struct DispatchState {
  Recording& recording;
  std::optional<Unsupported> stopped;  // set when a call has met something that cannot be recorded
  PyRef answer;                        // when set: the next operator returns it, and nothing is recorded
  bool in_backward = false;            // PyTorch's own backward runs: nobody but it sees what it makes
};

// While it lives, what runs is PyTorch's own backward.
class InBackward {
 public:
  explicit InBackward(DispatchState& state) : state_(state) { state_.in_backward = true; }
  ~InBackward() { state_.in_backward = false; }
  InBackward(const InBackward&) = delete;

 private:
  DispatchState& state_;
};

// New reference to a mode object; `state` must outlive its use. nullptr: a Python error is set.
PyObject* new_mode(DispatchState* state);

}  // namespace vitrine::torch_api
