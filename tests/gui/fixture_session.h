// Writes a small, complete session for tests and for looking at views: a transformer block captured, lowered,
// fused into four kernels and run, end to end linked; and a second run with two graph breaks and a
// recompilation. Texts are written by hand, numbers are invented but consistent.
#pragma once

#include <map>
#include <string>

#include "core/base/ids.h"

namespace vitrine::fixture {

// The things tests ask for by name.
struct Ids {
  Id run = 0, file = 0, frame = 0, segment = 0, compilation = 0;
  Id gelu_span = 0, gelu_instruction = 0, gelu_step = 0;
  Id captured_gelu = 0, aten_gelu = 0, optimised_gelu = 0, optimised_add_2 = 0, loop_gelu = 0, fused_gelu = 0;
  Id k2 = 0, k2_gelu_lines = 0, k2_add_lines = 0, launch_k2 = 0;
  Id fused_pair = 0, rejected_pair = 0;
  Id gated_run = 0, gated_compilation = 0, recompiled = 0, break_branch = 0, break_item = 0,
     recompilation = 0;
};

// Overwrites the file. Throws InternalError when it cannot be written. copies: how often the graphs' body is
// repeated, for timing the views on large sessions.
Ids writeSession(const std::string& path, int copies = 1);

// A training step in a session of its own: forward and backward compilation, what crosses, symbols.
struct TrainingIds {
  Id forward = 0, backward = 0;                               // compilations
  Id saved_joint = 0, saved_forward = 0, saved_backward = 0;  // the product that is kept, in three graphs
  Id again_backward = 0;                                      // what backward computes again
  Id line_6 = 0;                                              // the expression of the product
  Id kernel = 0, kernel_line = 0, exp_span = 0;  // of backward: its kernel, and what a line of it is of
};
TrainingIds writeTraining(const std::string& path);

// A run on a GPU in a session of its own.
struct GpuIds {
  Id compilation = 0, load = 0, exp = 0;  // load and exp: nodes of the fused graph
  Id kernel = 0, library = 0, launch = 0, exp_span = 0;
  std::map<std::string, std::pair<Id, Id>> ranges;  // text -> range of load and of exp
};
GpuIds writeGpu(const std::string& path);

// A run on a GPU whose product and activation became one library call. timed: how long the profiled calls
// took is recorded.
struct FusedCallIds {
  Id compilation = 0;
  Id call = 0, mean = 0, normal = 0;  // launches: the library call, and the two kernels of a norm
};
FusedCallIds writeFusedCall(const std::string& path, bool timed = true);

}  // namespace vitrine::fixture
