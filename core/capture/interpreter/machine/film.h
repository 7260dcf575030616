// The film of a capture.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

FilmState::Before begin_step(Tracer& t, VirtualFrame& frame, const Instruction& instruction, bool entered);
void end_step(Tracer& t, VirtualFrame& frame, const Instruction& instruction,
              const FilmState::Before& before);
void film_inlined(Tracer& t, PyCodeObject* code);
void film_returned(Tracer& t, VirtualFrame& frame, Value* value);
std::vector<StepRecord> finish_film(Tracer& t, const ir::Graph* captured, const std::vector<Guard>& guards);

}  // namespace vitrine::capture
