// PyTorch's modes: as they were when the segment began, and as the program has set them.
#pragma once

#include <vector>

#include "core/capture/interpreter/state/value.h"
#include "core/recording/lowering.h"

namespace vitrine::capture {

struct ModeState {
  struct OpenInference {
    Value* context;
    bool on, grad_before, inference_before;
  };

  bool grad_at_start = false, grad_now = false;
  bool inference_at_start = false, inference_now = false;
  Values unversioned;                         // inputs whose .data was asked for: writes there do not count
  std::vector<OpenInference> open_inference;  // entered in the segment and not left, outermost first
  std::vector<PyObject*> default_devices;     // the same
  bool filters_changed = false;               // those of warnings
  std::vector<bool> breaks_are_errors;        // by open block of torch._dynamo.error_on_graph_break
  torch_api::AutocastState autocast_at_start;
  torch_api::AttentionChoice attention_at_start;
};

}  // namespace vitrine::capture
