// The dispatch mode under which traced calls run: it answers each ATen operator with stand-ins of the right
// type and records a node.
#pragma once

#include <optional>

#include "core/torch_bridge/recording.h"

namespace vitrine::torch_bridge {

// Shared by a Lowering and its mode object.
struct DispatchState {
  Recording& recording;
  std::optional<Unsupported> stopped;  // set when a call has met something that cannot be recorded
  Py answer;                           // when set: the next operator returns it, and nothing is recorded
};

// New reference to a mode object; `state` must outlive its use. nullptr: a Python error is set.
PyObject* new_mode(DispatchState* state);

}  // namespace vitrine::torch_bridge
