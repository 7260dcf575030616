// What vitrine.explain hears of a compilation.
#pragma once

#include <string>

#include "core/capture/segment/settings.h"
#include "core/capture/trace.h"

namespace vitrine::capture {

// Appends a dict about the trace to the settings' observer, if there is one: graph, ops, guards, break,
// message.
void observe(const CallSettings& settings, const Trace& trace, const std::string& message);

}  // namespace vitrine::capture
