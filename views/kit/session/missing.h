// Why a stage of a compilation is not in the session: what the engine recorded of it, as one sentence.
#pragma once

#include <QString>
#include <string_view>

#include "views/kit/session/session_data.h"

namespace vitrine::kit {

// "" when nothing is known of it, or it is there.
QString whyMissing(const SessionData& data, Id compilation, std::string_view stage);

// The next act where a view is empty, and its command: "" when there is none to offer. data: null without a
// session. That a run which failed can be run again, the banner says once for all views.
struct NextAct {
  QString text, command;
};
NextAct nextAct(const SessionData* data);

// A training step compiled as one function: its graph asks for the gradients itself.
bool isWholeStep(const SessionData& data, Id compilation);

// The error that ended a run, of the user's code or of the environment; nothing of a run that did not fail.
const session::MessageRow* errorOf(const SessionData& data, const session::RunRow& run);

// Of a Python traceback the frames of the user's own files, and the error below them; all of it when none is.
QString ownFrames(const std::string& traceback);

}  // namespace vitrine::kit
