// What vitrine.explain hears of a compilation.
#pragma once

#include <string>

#include "core/autograd/joint.h"
#include "core/capture/segment/recompilation_hint.h"
#include "core/capture/segment/settings.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

// Who wrote the derivative, and why not we, as a sentence.
std::string gradients_sentence(const torch_api::Joint& joint);

// What causes a break, among the instructions that were being interpreted: the user's that is deepest in the
// calls, or the deepest where none is the user's. nullptr: not known.
const BreakInfo::At* cause_of(const BreakInfo& broke);

// Gives a dict about the trace to the settings' observer, if there is one: graph, ops, guards, break,
// message, gradients.
// ns: how long it took. compilation: its row of the session, 0: none.
void observe(const CallSettings& settings, const Trace& trace, const std::string& message, int64_t ns,
             Id compilation);

// Whether the observer is a function, which hears of recompilations, too: {"recompilation": {place, failed,
// old, new, hint}}.
bool hears_recompilations(const CallSettings& settings);
void observe_recompilation(const CallSettings& settings, PyCodeObject* code, int line,
                           const RecompilationCause& cause);

}  // namespace vitrine::capture
