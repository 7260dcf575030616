// Who writes a session, as its row `writer` of `meta` names it: so that a reader can tell a run that goes on
// from one whose process was killed.
#pragma once

#include <string>

namespace vitrine::session {

// This process: boot, namespace of process ids, id and start; "" where /proc does not tell.
std::string writing_process();

// Whether the process of that name certainly ended. false: it runs, or that cannot be known from here.
bool has_ended(const std::string& process);

}  // namespace vitrine::session
