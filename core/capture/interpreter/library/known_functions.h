// Functions of which the interpreter knows more than their code says. It goes by the object.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

bool is_known_function(PyObject* function);
// nullptr: a function like any other.
Value* call_known_function(Tracer& t, PyObject* function, const Arguments& a);
// The same of the outermost frame, which has just begun: what it returns.
Value* run_known_frame(Tracer& t, const Frame& frame);

// checkpoints.cpp: torch.utils.checkpoint.checkpoint; nullptr: a function like any other.
Value* checkpoint_function(Tracer& t, PyObject* function, const Arguments& a);

// padded_sequences.cpp: nn.TransformerEncoder.forward, _detect_is_causal_mask; nullptr: as any other.
Value* encoder_forward(Tracer& t, PyObject* function, const Arguments& a);
Value* detected_as_causal(Tracer& t, PyObject* function, const Arguments& a);

// collectives.cpp: what functional collectives ask of a process group, whether they are traced, and those
// that write to a tensor (nullptr: as any other function).
Value* asked_of_group(Tracer& t, PyObject* function, const Arguments& a);
Value* collectives_are_traced(Tracer& t, PyObject* function, const Arguments& a);
Value* collective_that_writes(Tracer& t, PyObject* function, const Arguments& a);
}  // namespace vitrine::capture
