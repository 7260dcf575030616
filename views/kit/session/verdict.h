// What core/session says of a run, for the views: its verdict, and its graph breaks by cause.
#pragma once

#include <vector>

#include "core/session/verdict.h"
#include "views/kit/session/session_data.h"

namespace vitrine::kit {

// Of a run, 0 = of all; in order of their first row.
std::vector<session::BreakCause> breakCauses(const SessionData& data, Id run);

// 0 = of the first run; an empty one of a session without runs.
session::Verdict verdictOf(const SessionData& data, Id run);

}  // namespace vitrine::kit
