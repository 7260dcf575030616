// The errors that a call of compiled code ends with where it was asked to be compiled and is not: fullgraph,
// limits, stances. Each leaves a Python error set.
#pragma once

#include <string>

#include "core/capture/cpython/frame.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

// "name (file:line)" of where the frame stands.
std::string place_text(const Frame& frame);

void raise_graph_break(const BreakInfo& broke);
// As torch.compile's stance "fail_on_recompile" has it. failed: the guard; "": nothing was compiled before.
void raise_recompile(const Frame& frame, const std::string& failed);
// As torch._dynamo.config.error_on_recompile has it.
void raise_recompile_error(const Frame& frame, const std::string& failed);
// text: which function was compiled how often; asked_by: what makes it an error.
void raise_recompile_limit(const std::string& text, const std::string& hint, const char* asked_by);
// fullgraph is asked for, and capture is off for this reason.
void raise_no_frames(const Frame& frame, const std::string& why);

}  // namespace vitrine::capture
