// What is left of a session whose engine ended without closing it.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/session/opening.h"

namespace vitrine::session {

// Cancelled: the user asked for it, and the engine had to be killed.
enum class Abandonment { Died, Cancelled };

// What is known of a death: a sentence, what to do, and what the process wrote last.
struct Death {
  std::string text, hint, words;
};

// Marks the session and its unfinished runs as ended and folds the log into the one file. A session that was
// closed stays as it is, and so does every session of a stranger: nothing is written there. Call it when no
// engine writes any more. true: it was marked. What is known of its death becomes a message. Errors: as
// open_session; the file cannot be written.
Result<bool> close_abandoned(const std::string& path, Whose whose = Whose::Found,
                             Abandonment how = Abandonment::Died, const Death& death = {});

// The same for a session that was opened and may still be written: it is closed if the process that wrote it
// has ended. What cannot be read or written is left as it is.
void close_if_abandoned(const std::string& path);

}  // namespace vitrine::session
