// Views for screen readers: what a custom view has in sight are its children, each with its name, what it is
// and how it is marked.
#pragma once

#include <QString>

#include "views/kit/selection/selection.h"
#include "views/kit/session/session_data.h"

namespace vitrine::kit {

// Once at the start of the application.
void installAccessible();

// "gelu, pointwise, f32[8,128,3072], in kernel K2, active"
QString spokenText(const SessionData& session, const Selection& selection, Id id);

}  // namespace vitrine::kit
