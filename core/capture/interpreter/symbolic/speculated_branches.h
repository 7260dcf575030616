// Branches on a tensor's value one side of which only raises (assert, argument checks of
// torch.distributions).
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

bool branches(Tracer& t, VirtualFrame& frame, const Instruction& in, Value* v, bool jumps_if);
// The graph checks whether the tensor is true or not, and the program is taken to go on. false: it may not.
bool speculate(Tracer& t, Value* tensor, bool expected);
bool may_check(const Tracer& t, const ir::TensorType& type);  // whether a graph can check such a tensor
void check(Tracer& t, Value* holds, const char* message);  // of one bool; message: what it raises, or nullptr

}  // namespace vitrine::capture
