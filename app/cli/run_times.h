// What stands beside times on the command line: of how many calls they are, how these scatter, and what makes
// them doubtful.
#pragma once

#include <string>

#include "core/session/doubts.h"
#include "core/session/reader.h"

namespace vitrine::cli {

session::RunTimes times_of(const session::Reader& session, const session::RunRow& run);

// Lines below a table whose times are those of the call that is shown: of which calls it is one, and what
// makes them doubtful. "" where nothing was profiled.
std::string shown_call_notes(const session::Reader& session);
// What heads a column of launches' times.
std::string launch_title(const session::Reader& session);
// Below what is of interleaved calls: what makes them doubtful.
std::string call_notes(const session::Reader& session);

// Of scripts that ran twice what a step takes on both sides; "" where none did.
std::string step_notes(const session::Reader& session);

// "1.38 ms to 1.50 ms": the middle half of some calls; "–" when it is not known.
std::string middle_half(double lower_ns, double upper_ns, int64_t calls);

// "64 of 20000 calls are kept": a compilation keeps its first; "" when all are.
std::string kept_calls(const session::Reader& session);

}  // namespace vitrine::cli
