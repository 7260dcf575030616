// Branches on a tensor's value one side of which only raises (assert, argument checks of
// torch.distributions).
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// Whether v is true, where the running instruction jumps if that is `jumps_if`.
bool branches(Tracer& t, VirtualFrame& frame, Value* v, bool jumps_if);
// The same where the running instruction only asks, and the next one may jump.
bool asked_truth(Tracer& t, VirtualFrame& frame, Value* v);
// The graph checks whether the tensor is true or not, and the program is taken to go on. false: it may not.
bool speculate(Tracer& t, Value* tensor, bool expected);
bool may_check(const Tracer& t, const ir::TensorType& type);  // whether a graph can check such a tensor
void check(Tracer& t, Value* holds, const char* message);  // of one bool; message: what it raises, or nullptr

}  // namespace vitrine::capture
