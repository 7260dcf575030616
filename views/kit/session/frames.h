// Which Python function a compilation is about.
#pragma once

#include <unordered_map>

#include "core/session/rows.h"
#include "views/kit/session/table.h"

namespace vitrine::kit {

struct SessionData;

// The function that a person means by a compilation: the captured frame itself, unless it only passes its
// call on. A library often wraps a model's forward in others (a decorator, a hook); such a wrapper makes at
// most one node of its own. The user's own function is never passed over.
Id workCode(const SessionData& data, Id compilation);

// The function whose source is shown of a compilation: that one, or where it is a library's (Sequential) the
// user's own below it that does most. Goes through the steps of the capture.
Id readCode(const SessionData& data, Id compilation);

// The instructions that were being interpreted at a step of the capture: its own, then those that called it,
// the captured frame's last.
std::vector<Id> instructionsAt(const SessionData& data, const session::StepRow& step);

}  // namespace vitrine::kit
